import { scheduler } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type McpServer, mcpTools } from '../../durable/tools/mcp/index.ts';
import { KEY, OAUTH, startToolServer, type ToolServer } from '../support/mcp-server.ts';
import { openMcpSession, setUp } from './mcp-session.ts';

let server: ToolServer;
beforeAll(async () => {
  server = await startToolServer();
});
afterAll(() => server.close());
afterEach(() => {
  server.seen.length = 0;
  server.effects.length = 0;
  server.setGrown(false);
  server.setDescription('Adds two numbers.');
});

function at(path: string, more: Partial<McpServer> = {}): McpServer {
  return { name: 'lo', url: `${server.url}${path}`, ...more };
}
const methods = () => server.seen.map(({ method }) => method);

describe.each(['/stateless', '/sessions'])('a server at %s', (path) => {
  it('has its tools in the prompt, under its name, with its schemas as they are', async () => {
    const tools = await openMcpSession(setUp([at(path)])).tools();
    expect(tools.map(({ owner, tool }) => [owner, tool.name])).toEqual(
      ['add', 'refuse', 'count', 'measure', 'picture', 'slow', 'echo_key', 'grow'].map((name) => [
        'mcp:lo',
        `mcp__lo__${name}`,
      ]),
    );
    expect(tools[0]?.tool).toMatchObject({
      description: 'Adds two numbers.',
      parallelSafe: true,
      idempotent: true,
      jsonSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
    });
    expect(tools[2]?.tool).toMatchObject({ parallelSafe: false, idempotent: false });
  });

  it('answers calls: text, an error of its own, structured output, media by name', async () => {
    const session = openMcpSession(setUp([at(path)]));
    expect(await session.call('mcp__lo__add', { a: 1, b: 2 })).toEqual({ text: '3', error: undefined });
    expect(await session.call('mcp__lo__refuse', {})).toEqual({
      text: 'mcp_error: not today',
      error: 'mcp_error',
    });
    expect(await session.call('mcp__lo__measure', {})).toEqual({ text: '{"metres":3}', error: undefined });
    expect((await session.call('mcp__lo__picture', {})).text).toBe(
      '[image/png, 3 bytes: not shown]\n\n[resource file:///a.txt]\n\n[resource file:///b.txt]\ninside b',
    );
  });

  it('says itself which arguments are wrong; that a required one is missing is known here', async () => {
    const session = openMcpSession(setUp([at(path)]));
    expect((await session.call('mcp__lo__add', { a: 'x', b: 2 })).error).toBe('mcp_error');
    const missing = await session.call('mcp__lo__add', { a: 1 });
    expect(missing).toEqual({
      text: 'invalid_arguments: The arguments of mcp__lo__add are not valid. b: is required',
      error: 'invalid_arguments',
    });
  });

  it('is told when a call is cancelled, and nothing stays open', async () => {
    const session = openMcpSession(setUp([at(path)]));
    await session.tools();
    const before = server.stopped;
    const controller = new AbortController();
    const answer = session.call('mcp__lo__slow', {}, controller.signal);
    await expect.poll(() => methods().includes('tools/call')).toBe(true);
    controller.abort();
    expect((await answer).error).toBe('aborted');
    await expect.poll(() => server.stopped).toBe(before + 1);
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is told when a call takes too long', async () => {
    const session = openMcpSession(setUp([at(path, { timeoutMs: 200 })]));
    const before = server.stopped;
    expect((await session.call('mcp__lo__slow', {})).error).toBe('tool_timeout');
    await expect.poll(() => server.stopped).toBe(before + 1);
    expect((await session.call('mcp__lo__add', { a: 1, b: 1 })).text).toBe('2');
  });

  it('is connected to once, and nothing stays open between calls', async () => {
    const session = openMcpSession(setUp([at(path)]));
    await session.call('mcp__lo__add', { a: 1, b: 2 });
    await session.call('mcp__lo__add', { a: 1, b: 2 });
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(2);
    expect(methods().filter((method) => method === 'server/discover')).toHaveLength(1);
    expect(server.seen.filter(({ http }) => http === 'GET')).toEqual([]);
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is asked for its list again after a call that may have changed it, and not after one that only reads', async () => {
    const session = openMcpSession(setUp([at(path)]));
    await session.call('mcp__lo__add', { a: 1, b: 2 });
    await session.tools();
    expect(methods().filter((method) => method === 'tools/list')).toHaveLength(1);
    await session.call('mcp__lo__grow', {});
    if (path === '/stateless') expect(await session.names()).toContain('mcp__lo__grown');
    else await session.tools();
    expect(methods().filter((method) => method === 'tools/list')).toHaveLength(2);
  });
});

describe('a session that the server has forgotten', () => {
  it('is made anew, once, and the call is made', async () => {
    const session = openMcpSession(setUp([at('/sessions')]));
    expect((await session.call('mcp__lo__count', { text: 'a' })).text).toBe('counted 1');
    await session.tools();
    server.forget();
    expect((await session.call('mcp__lo__count', { text: 'b' })).text).toBe('counted 2');
    expect(server.effects).toEqual(['a', 'b']);
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });
});

describe('a call', () => {
  it('that breaks off says that its effect is not known, unless it may be made again', async () => {
    const other = await startToolServer();
    const set = setUp([{ name: 'lo', url: `${other.url}/sessions` }]);
    const session = openMcpSession(set);
    await session.tools();
    const answer = session.call('mcp__lo__slow', {});
    await expect.poll(() => other.seen.some(({ method }) => method === 'tools/call')).toBe(true);
    await other.stop();
    expect(await answer).toMatchObject({
      error: 'mcp_unavailable',
      text: expect.stringContaining('Whether the call had its effect is not known.'),
    });
    await other.close();
  });

  it('to a tool that is gone is answered in the words of the server, and the next step does not have it', async () => {
    server.setGrown(true);
    const session = openMcpSession(setUp([at('/stateless')]));
    expect(await session.names()).toContain('mcp__lo__grown');
    server.setGrown(false);
    const answer = await session.call('mcp__lo__grown', {});
    expect(answer.error).toBe('mcp_error');
    expect(answer.text).toContain('grown');
    expect(await session.names()).not.toContain('mcp__lo__grown');
  });

  it('with arguments that are too deep or too long is not made', async () => {
    const session = openMcpSession(setUp([at('/stateless')]));
    let deep: unknown = 1;
    for (let depth = 0; depth < 70; depth++) deep = { deep };
    expect((await session.call('mcp__lo__count', { text: deep })).error).toBe('invalid_arguments');
    const long = await session.call('mcp__lo__count', { text: 'x'.repeat(1_100_000) });
    expect(long.error).toBe('invalid_arguments');
    expect(methods()).not.toContain('tools/call');
  });
});

describe('credentials', () => {
  it.each([
    ['a header', { kind: 'header', name: 'X-Key', envVar: 'THE_KEY' } as const],
    ['a bearer token', { kind: 'bearer', envVar: 'THE_KEY' } as const],
  ])('are sent as %s', async (_, auth) => {
    const session = openMcpSession(setUp([at('/guarded', { auth })]), { THE_KEY: KEY });
    expect((await session.call('mcp__lo__add', { a: 1, b: 2 })).text).toBe('3');
    expect((await session.call('mcp__lo__echo_key', {})).text).toBe('key: [secret]');
  });

  it('that are missing cost the tools, and no request; that are refused cost the tools, and show nothing', async () => {
    const auth = { kind: 'bearer', envVar: 'THE_KEY' } as const;
    const missing = setUp([at('/guarded', { auth })]);
    for (const env of [{}, { THE_KEY: '' }, { THE_KEY: 'line\nbreak' }]) {
      expect(await openMcpSession(missing, env).names()).toEqual([]);
    }
    expect(server.seen).toEqual([]);
    expect(missing.changes).toEqual([
      { server: 'lo', state: 'down', detail: 'THE_KEY is not set, or cannot be sent.' },
    ]);
    const refused = setUp([at('/guarded', { auth })]);
    expect(await openMcpSession(refused, { THE_KEY: 'wrong-key-1234' }).names()).toEqual([]);
    expect(refused.changes).toEqual([
      {
        server: 'lo',
        state: 'down',
        detail: 'lo does not take the credentials that it is given. Only an operator can put that right.',
      },
    ]);
  });

  it.each(['client_credentials', 'refresh_token'] as const)('of OAuth are granted by %s', async (grant) => {
    const auth = {
      kind: 'oauth',
      grant,
      issuer: server.url,
      clientIdVar: 'ID',
      clientSecretVar: 'SECRET',
      refreshTokenVar: 'REFRESH',
    } as const;
    const set = setUp([at('/oauth', { auth })]);
    const session = openMcpSession(set, { ID: 'client', ...OAUTH });
    expect((await session.call('mcp__lo__add', { a: 1, b: 2 })).text).toBe('3');
    expect(set.changes).toEqual([]);
  });

  it('of OAuth go to the issuer that the deployer named, and to no other', async () => {
    const auth = {
      kind: 'oauth',
      grant: 'client_credentials',
      issuer: 'https://issuer.example.com',
      clientIdVar: 'ID',
      clientSecretVar: 'SECRET',
    } as const;
    const set = setUp([at('/oauth', { auth })]);
    expect(await openMcpSession(set, { ID: 'client', ...OAUTH }).names()).toEqual([]);
    expect(server.seen.map(({ path }) => path)).not.toContain('/token');
    expect(set.changes).toMatchObject([{ state: 'down' }]);
    expect(JSON.stringify(set.changes)).not.toContain(OAUTH.SECRET);
  });
});

describe('a server that is down', () => {
  it('at the start costs its tools, is not waited for again, and comes back by itself', async () => {
    const other = await startToolServer();
    await other.stop();
    const set = setUp([at('/stateless'), { name: 'gone', url: `${other.url}/stateless` }]);
    const session = openMcpSession(set);
    expect((await session.names()).every((name) => name.startsWith('mcp__lo__'))).toBe(true);
    expect(set.changes).toEqual([{ server: 'gone', state: 'down', detail: 'gone cannot be reached.' }]);
    await other.start();
    await session.tools();
    await scheduler.wait(50);
    expect(other.seen).toEqual([]);
    set.advance(5_000);
    // The step that finds it may be asked again does not wait for it; the next one has its tools.
    expect(await session.names()).not.toContain('mcp__gone__add');
    await expect.poll(session.names).toContain('mcp__gone__add');
    expect(set.changes).toHaveLength(2);
    expect(set.changes[1]).toEqual({ server: 'gone', state: 'up', detail: '' });
    await other.close();
  });

  it('in the middle keeps its tools in the prompt for ten minutes, and then loses them', async () => {
    const other = await startToolServer();
    const set = setUp([{ name: 'lo', url: `${other.url}/stateless` }]);
    const session = openMcpSession(set);
    const before = await session.tools();
    await other.stop();
    set.advance(120_000);
    expect(await session.tools()).toEqual(before);
    expect(await session.call('mcp__lo__add', { a: 1, b: 2 })).toEqual({
      text: 'mcp_unavailable: lo cannot be reached.',
      error: 'mcp_unavailable',
    });
    expect((await session.call('mcp__lo__count', { text: 'x' })).text).toContain('lo cannot be reached.');
    expect(await session.names()).toHaveLength(before.length);
    set.advance(480_000);
    expect(await session.names()).toEqual([]);
    await other.start();
    set.advance(300_000);
    await session.tools();
    await expect.poll(session.names).toHaveLength(before.length);
    expect(set.changes.map(({ state }) => state)).toEqual(['down', 'up']);
    await other.close();
  });

  it('gives the very same tools again after it was away, so that the prompt is the same', async () => {
    const set = setUp([at('/stateless')]);
    const session = openMcpSession(set);
    const before = await session.tools();
    set.advance(600_001);
    const after = await session.tools();
    expect(after.every(({ tool }, i) => tool === before[i]?.tool)).toBe(true);
    server.setDescription('Adds.');
    set.advance(600_001);
    const changed = await session.tools();
    expect(changed.map(({ tool }, i) => tool === before[i]?.tool)).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('is looked up beside the step when its list is a minute old', async () => {
    const set = setUp([at('/stateless')]);
    const session = openMcpSession(set);
    await session.tools();
    server.setGrown(true);
    set.advance(60_000);
    expect(await session.names()).not.toContain('mcp__lo__grown');
    await expect.poll(session.names).toContain('mcp__lo__grown');
  });

  it('is known to a new session of the same process without a request', async () => {
    const set = setUp([at('/stateless')]);
    await openMcpSession(set).tools();
    server.seen.length = 0;
    expect(await openMcpSession(set).names()).toContain('mcp__lo__add');
    expect(server.seen).toEqual([]);
  });
});

describe('a server that breaks the protocol', () => {
  it.each([
    ['/silent', 'lo does not answer.'],
    ['/garbage', 'lo does not speak the protocol'],
    ['/stream-garbage', 'lo does not'],
    ['/html', 'lo does not speak the protocol'],
    ['/failing', 'lo has a fault of its own (503).'],
    ['/nothing', 'lo answered 404'],
    ['/away', 'lo redirects to another place (307)'],
    ['/circle', 'lo'],
    ['/endless', 'lo'],
  ])('as %s does costs its tools and a line', async (path, detail) => {
    const auth = { kind: 'bearer', envVar: 'THE_KEY' } as const;
    const set = setUp([at(path, { auth })], { connectMs: 500 });
    const started = performance.now();
    expect(await openMcpSession(set, { THE_KEY: KEY }).names()).toEqual([]);
    expect(performance.now() - started).toBeLessThan(2_500);
    expect(set.changes).toHaveLength(1);
    expect(set.changes[0]?.detail).toContain(detail);
    expect(JSON.stringify(set.changes)).not.toContain(KEY);
    // The key went to no other place.
    expect(server.seen.every((request) => request.path === path)).toBe(true);
    await expect.poll(() => server.open()).toBe(0);
  });

  it('loses the tools whose schemas no provider would take, and only those', async () => {
    const set = setUp([at('/schemas')]);
    const tools = await openMcpSession(set).tools();
    expect(tools.map(({ tool }) => tool.name)).toEqual([
      'mcp__lo__good',
      'mcp__lo__talkative',
      'mcp__lo__lone',
    ]);
    expect(tools[0]?.tool.jsonSchema).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    });
    const description = tools[1]?.tool.description ?? '';
    expect(description.isWellFormed()).toBe(true);
    expect([...description].length).toBeLessThan(2_100);
    expect(JSON.stringify(tools[2]?.tool.jsonSchema)).toContain('x \ufffd y');
    expect(set.changes[0]?.detail).toBe(
      'Left out, because their schema cannot be used: no_schema (it is no JSON object), text (it is no JSON object), ' +
        'list (it is no JSON object), typeless (its type is not object), unknown_type (the type of a is unknown) and 8 more.',
    );
  });

  it('has 128 of ten thousand tools, says so, and all those that are asked for by name', async () => {
    const set = setUp([at('/many')]);
    expect(await openMcpSession(set).names()).toHaveLength(128);
    expect(set.changes[0]?.detail).toBe(
      'It offers at least 500 tools, and the first 128 are used: name those that are needed in `allow`.',
    );
    const named = setUp([at('/many', { allow: ['tool_9999', 'tool_777*'] })], { connectMs: 5_000 });
    expect(await openMcpSession(named).names()).toHaveLength(12);
  });

  it('whose list never ends is read so far, and one that goes in a circle once round', async () => {
    const endless = setUp([at('/endless-list', { allow: ['page_7'] })], { connectMs: 5_000 });
    expect(await openMcpSession(endless).names()).toEqual(['mcp__lo__page_7']);
    expect(endless.changes[0]?.detail).toBe('Its list was read to the 200th tool, and goes on.');
    expect(await openMcpSession(setUp([at('/circling-list')])).names()).toEqual(['mcp__lo__only']);
  });

  it('gets names that providers take, and never two alike', async () => {
    const names = await openMcpSession(setUp([at('/names')])).names();
    expect(new Set(names).size).toBe(7);
    for (const name of names) expect(name).toMatch(/^mcp__lo__[a-zA-Z0-9_-]{1,55}$/);
    expect(names.slice(0, 2).map((name) => name.slice(0, 19))).toEqual([
      'mcp__lo__files_read',
      'mcp__lo__files_read',
    ]);
    expect(names[1]).toBe('mcp__lo__files_read');
    expect(await openMcpSession(setUp([at('/names')])).names()).toEqual(names);
  });
});

describe('a deployment', () => {
  it.each([
    ['not over https', [{ name: 'a', url: 'http://tools.example.com/' }]],
    ['a bad name', [{ name: 'a_b', url: 'https://tools.example.com/' }]],
    ['a call of an hour', [{ name: 'a', url: 'https://tools.example.com/', timeoutMs: 3_600_000 }]],
    ['no address', [{ name: 'a', url: 'tools.example.com' }]],
    ['an address with a password', [{ name: 'a', url: 'https://a:b@tools.example.com' }]],
    [
      'one name twice',
      [
        { name: 'a', url: 'https://tools.example.com/' },
        { name: 'a', url: 'https://more.example.com/' },
      ],
    ],
  ])('with a server of %s does not start', (_, servers) => {
    expect(() => mcpTools({ servers })).toThrow();
  });

  it('gives some servers only to the sessions that name them', async () => {
    const set = setUp([at('/stateless', { onlyNamed: true })]);
    expect(await openMcpSession(set).names()).toEqual([]);
    expect(await openMcpSession(set, {}, { mcp_servers: 'other, lo' }).names()).toHaveLength(8);
  });

  it('lets a person decide about calls, of those that change something or of all', async () => {
    const wants = async (approval: McpServer['approval']) => {
      const tools = await openMcpSession(setUp([at('/stateless', approval ? { approval } : {})])).tools();
      return tools.slice(0, 2).map(({ tool }) => tool.approval?.({}) ?? null);
    };
    const refuse = 'The tool refuse of the server lo wants to run.';
    expect(await wants(undefined)).toEqual([null, null]);
    expect(await wants('unless-read-only')).toEqual([null, refuse]);
    expect(await wants('always')).toEqual(['The tool add of the server lo wants to run.', refuse]);
  });
});
