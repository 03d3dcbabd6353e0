/** Tools of a server in workerd: over the published package's server, and in the loop, restarts included. */
import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { type McpServer, mcpTools } from '../../durable/tools/mcp/index.ts';
import { late } from '../support/deployment.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { openMcpSession, setUp } from './mcp-session.ts';

const url = inject('toolServer');

afterEach(() => {
  clearFaults();
  late.source = null;
});

describe.each(['/stateless', '/sessions'])('in workerd, a server at %s', (path) => {
  it('is connected to, listed, called and left', async () => {
    const set = setUp([{ name: 'lo', url: `${url}${path}`, timeoutMs: 300 }]);
    const session = openMcpSession(set);
    expect(await session.names()).toContain('mcp__lo__add');
    expect(await session.call('mcp__lo__add', { a: 1, b: 2 })).toEqual({ text: '3', error: undefined });
    expect((await session.call('mcp__lo__refuse', {})).error).toBe('mcp_error');
    expect((await session.call('mcp__lo__measure', {})).text).toBe('{"metres":3}');
    expect((await session.call('mcp__lo__slow', {})).error).toBe('tool_timeout');
    expect((await session.call('mcp__lo__add', { a: 2, b: 2 })).text).toBe('4');
    expect(set.changes).toEqual([]);
  });
});

describe('in workerd, a server that is not right', () => {
  it.each([
    ['/silent', 'lo does not answer.'],
    ['/garbage', 'lo does not speak the protocol'],
    ['/html', 'lo does not speak the protocol'],
    ['/failing', 'lo has a fault of its own (503).'],
    ['/away', 'lo redirects to another place (307)'],
    ['/endless', 'lo'],
  ])('as %s costs its tools and a line', async (path, detail) => {
    const set = setUp([{ name: 'lo', url: `${url}${path}` }], { connectMs: 500 });
    expect(await openMcpSession(set).names()).toEqual([]);
    expect(set.changes).toMatchObject([{ state: 'down', detail: expect.stringContaining(detail) }]);
  });

  it('because nobody is there is said to be out of reach', async () => {
    const set = setUp([{ name: 'lo', url: 'http://127.0.0.1:1/' }]);
    expect(await openMcpSession(set).names()).toEqual([]);
    expect(set.changes).toEqual([{ server: 'lo', state: 'down', detail: 'lo cannot be reached.' }]);
  });

  it('has OAuth, and is asked with a token', async () => {
    const auth = {
      kind: 'oauth',
      grant: 'client_credentials',
      issuer: url,
      clientIdVar: 'ID',
      clientSecretVar: 'SECRET',
    } as const;
    const set = setUp([{ name: 'lo', url: `${url}/oauth`, auth }]);
    const env = { ID: 'client', SECRET: 'a secret of the client' };
    expect((await openMcpSession(set, env).call('mcp__lo__add', { a: 1, b: 2 })).text).toBe('3');
  });
});

/** As a new process would have it: without connections, lists and what was known of the server. */
function connectAnew(more: Partial<McpServer> = {}): void {
  const [source] =
    mcpTools({
      servers: [{ name: 'lo', url: `${url}/sessions`, ...more }],
      allowHosts: ['127.0.0.1'],
    }).toolSources ?? [];
  late.source = source ?? null;
}

const call = (id: string, name: string, input: object) => ({ id, name, arguments: JSON.stringify(input) });

async function open(perch: Perch, agent: string, responses: Parameters<typeof models.script>[1]) {
  const model = uniqueModel();
  await models.script(model, responses);
  return { model, session: await perch.open({ agent, model: `stand-in/${model}` }) };
}

/** Kills all objects when a session comes to the point, with what it wrote before on the disk. */
async function killAfter(point: string, work: Promise<unknown>): Promise<void> {
  let isReached = false;
  planFaults(async (passed, ctx) => {
    if (passed !== point) return;
    await ctx?.storage.sync();
    isReached = true;
    await new Promise<void>(() => undefined);
  });
  // Its request dies with the object.
  work.catch(() => undefined);
  await expect.poll(() => isReached).toBe(true);
  clearFaults();
  await abortAllDurableObjects();
}

const request = z.object({
  tools: z.array(z.object({ function: z.object({ name: z.string(), parameters: z.unknown() }) })),
});

describe('in a session', () => {
  it('the tools stand last in the prompt, with their own schemas, and their calls are made', async () => {
    connectAnew();
    const perch = await createPerch();
    const { model, session } = await open(perch, 'careful', [
      { tool_calls: [call('a', 'mcp__lo__add', { a: 20, b: 22 })] },
      { text: 'done' },
    ]);
    expect(await perch.ask(session, 'go')).toMatchObject({ text: 'done' });
    const [result] = await perch.events(session, 'tool/result');
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '42' }],
      facts: { server: 'lo', tool: 'add' },
    });
    const [first, second] = (await models.requests(model)).map(({ body }) => request.parse(JSON.parse(body)));
    const names = first?.tools.map((tool) => tool.function.name) ?? [];
    const ours = ['add', 'count', 'echo_key', 'grow', 'measure', 'picture', 'refuse', 'slow'].map(
      (name) => `mcp__lo__${name}`,
    );
    expect(names.slice(-ours.length)).toEqual(ours);
    expect(
      first?.tools.find((tool) => tool.function.name === 'mcp__lo__add')?.function.parameters,
    ).toMatchObject({
      properties: { a: { type: 'number' } },
      required: ['a', 'b'],
    });
    expect(second?.tools).toEqual(first?.tools);
  });

  it('an agent that lists its tools has those of a server that its list names', async () => {
    connectAnew();
    const perch = await createPerch();
    const { model, session } = await open(perch, 'connected', [
      { tool_calls: [call('a', 'mcp__lo__count', { text: 'x' }), call('b', 'mcp__lo__add', { a: 1, b: 1 })] },
      { text: 'done' },
    ]);
    await perch.ask(session, 'go');
    const results = await perch.events(session, 'tool/result');
    expect(results.map(({ error }) => error)).toEqual(['unknown_tool', undefined]);
    const [first] = (await models.requests(model)).map(({ body }) => request.parse(JSON.parse(body)));
    expect(first?.tools.map((tool) => tool.function.name)).toEqual(['echo', 'mcp__lo__add']);
  });

  it('may narrow the tools of a server, and may not add one that its agent lacks', async () => {
    connectAnew();
    const perch = await createPerch();
    const create = (agent: string, tools: string[]) =>
      perch.request('POST', '/v1/sessions', { agent, tools });
    expect((await create('connected', ['mcp__lo__count'])).status).toBe(422);
    expect((await create('connected', ['mcp__lo__add'])).status).toBe(201);
    expect((await create('careful', ['mcp__lo__*'])).status).toBe(201);
  });

  it('a server that is down costs its tools and not the turn', async () => {
    const [source] =
      mcpTools({ servers: [{ name: 'gone', url: 'https://127.0.0.1:1/' }], report: () => undefined })
        .toolSources ?? [];
    late.source = source ?? null;
    const perch = await createPerch();
    const { session } = await open(perch, 'careful', [{ text: 'done' }]);
    expect(await perch.ask(session, 'go')).toMatchObject({ text: 'done', reason: { kind: 'completed' } });
  });

  it('a call that waits for a person is made after a restart', async () => {
    connectAnew({ approval: 'always' });
    const perch = await createPerch();
    const { session } = await open(perch, 'careful', [
      { tool_calls: [call('a', 'mcp__lo__add', { a: 1, b: 2 })] },
      { text: 'done' },
    ]);
    await perch.post(session, { text: 'go' });
    const listed = z.object({ data: z.array(z.looseObject({ approval: z.string() })) });
    const list = async () =>
      listed.parse(await (await perch.request('GET', `/v1/sessions/${session}/approvals`)).json()).data;
    await expect.poll(async () => (await list()).length).toBe(1);
    const [asked] = await list();
    await runInDurableObject(sessionStub(perch, session), (_, state) => state.storage.sync());
    await abortAllDurableObjects();
    connectAnew({ approval: 'always' });
    const path = `/v1/sessions/${session}/approvals/${asked?.approval}`;
    expect((await perch.request('POST', path, { decision: 'approve' })).status).toBe(200);
    await expect
      .poll(async () => (await perch.events(session, 'turn/end')).length, { timeout: 5_000 })
      .toBe(1);
    const results = await perch.events(session, 'tool/result');
    expect(results).toMatchObject([{ content: [{ type: 'text', text: '3' }] }]);
  });

  it.each([
    ['made again where its server says that it may be', 'add', { a: 1, b: 2 }, { content: [{ text: '3' }] }],
    [
      'not made again where it may have had its effect',
      'count',
      { text: 'x' },
      { error: 'TOOL_OUTCOME_UNKNOWN' },
    ],
  ])('a call that a restart cut off is %s', async (_, tool, input, result) => {
    connectAnew();
    const perch = await createPerch();
    const { session } = await open(perch, 'careful', [
      { tool_calls: [call('a', `mcp__lo__${tool}`, input)] },
      { text: 'done' },
    ]);
    await killAfter('tool.started', perch.ask(session, 'go'));
    connectAnew();
    const ended = async () => (await perch.events(session, 'turn/end')).length;
    await expect.poll(ended, { timeout: 5_000 }).toBe(1);
    const results = await perch.events(session, 'tool/result');
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject(result);
  });
});
