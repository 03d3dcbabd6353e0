/** `/name` and the `skill` tool through the whole worker: HTTP, object, KV, and what the model's server received. */
import { evictDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { POINTER_KEY } from '../../durable/skills/manifest.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { PEOPLE_ONLY, publishSkills, skillsKv } from '../support/skills.ts';

const BODIES = {
  alpha:
    'BODY-A\n\n| $10.00 | $50.00 |\ncost \\$5 and {{name}}\n```\n!`rm -rf x`\n```\nfirst run /beta, then /alpha again\n',
  beta: 'BODY-B\n',
};

let manifest = '';
beforeAll(async () => {
  manifest = await publishSkills({
    alpha: { body: BODIES.alpha, files: { 'refs/a.md': 'more' } },
    beta: BODIES.beta,
    secret: { policy: PEOPLE_ONLY, body: 'BODY-S\n' },
    'to-spec': { policy: PEOPLE_ONLY, body: 'BODY-T\n' },
    'to-specs': 'BODY-TS\n',
  });
});

const chatRequest = z.looseObject({ messages: z.array(z.looseObject({ role: z.string() })) });

async function openSession(perch: Perch, ...responses: Parameters<typeof models.script>[1]) {
  const model = uniqueModel();
  await models.script(model, responses.length > 0 ? responses : [{ text: 'ok' }], { repeat: true });
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  return { session, model };
}

interface Said {
  kind: string;
  name: string | undefined;
  text: string;
  turn: number;
}

const userEvent = z.looseObject({
  turn: z.number(),
  message: z.looseObject({
    source: z.looseObject({ kind: z.string(), name: z.string().optional() }),
    content: z.array(z.looseObject({ text: z.string() })),
  }),
});

async function readSaid(perch: Perch, session: string): Promise<Said[]> {
  return (await perch.events(session, 'user/message')).map((event) => {
    const { turn, message } = userEvent.parse(event);
    return {
      kind: message.source.kind,
      name: message.source.name,
      text: message.content[0]?.text ?? '',
      turn,
    };
  });
}

const injectedOf = (said: Said[]): (string | undefined)[] =>
  said.filter(({ kind }) => kind === 'skill-invocation').map(({ name }) => name);

describe('a gesture', () => {
  it.each([
    ['INV-01', '/secret ship it', ['secret']],
    ['INV-03', 'summarise, then /secret', ['secret']],
    ['INV-07', '/alpha\n\ncheck auth', ['alpha']],
    ['INV-08', '/alpha line1\r\nline2', ['alpha']],
    ['INV-10', 'the route /login returns 500', []],
    ['INV-12', 'see /alpha/.config and x/alpha and //alpha', []],
    ['INV-16', '帮我写周报/alpha', []],
    ['INV-16 with a wide space', '帮我写周报\u3000/alpha', ['alpha']],
    ['INV-34', '<@U042> /alpha status', ['alpha']],
    ['INV-41', '/to-spec', ['to-spec']],
    ['in first-seen order, each once', '/beta /alpha /beta', ['beta', 'alpha']],
  ])('%s: injects exactly what a person named, and leaves the words alone', async (_, text, names) => {
    const perch = await createPerch();
    const { session, model } = await openSession(perch);
    await perch.ask(session, text);
    const said = await readSaid(perch, session);
    expect(injectedOf(said)).toEqual(names);
    expect(said[0]).toMatchObject({ kind: 'user', text });
    // The skill stands last in what the model's server received, and the person's words are whole.
    const [request] = await models.requests(model);
    const { messages } = chatRequest.parse(JSON.parse(request?.body ?? ''));
    expect(messages.map(({ content }) => content)).toContain(text);
    const expected = said.map(({ text: sent }) => sent);
    expect(messages.slice(-expected.length).map(({ content }) => content)).toEqual(expected);
  });

  it('is answered byte for byte as the tool answers, braces, dollars and fences included (INV-27, TPL-06, TPL-07, TPL-26)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"alpha"}' }] },
      { text: 'ok' },
    );
    await perch.ask(session, '/alpha go');
    const injected = (await readSaid(perch, session)).find(({ kind }) => kind === 'skill-invocation');
    const [result] = await perch.events(session, 'tool/result');
    expect(result?.content).toEqual([{ type: 'text', text: injected?.text }]);
    expect(injected?.text).toContain(BODIES.alpha);
    expect(injected?.text).toContain('refs/a.md');
    expect(result?.error).toBeUndefined();
  });

  it('counts once a step and again in a later turn (INV-42)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, '/alpha x /alpha');
    await perch.ask(session, 'again /alpha');
    const injected = (await readSaid(perch, session)).filter(({ kind }) => kind === 'skill-invocation');
    expect(injected.map(({ turn }) => turn)).toEqual([1, 2]);
  });

  it('is never found in what no person said: skill bodies, tool results, the model (INV-31, INV-32)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(
      perch,
      {
        text: '/beta says the model',
        tool_calls: [{ id: 'c', name: 'echo', arguments: '{"text":"/beta"}' }],
      },
      { text: '/beta' },
    );
    await perch.ask(session, '/alpha');
    await perch.ask(session, 'no gesture');
    expect(injectedOf(await readSaid(perch, session))).toEqual(['alpha']);
  });

  it('works the same after an eviction (CMP-08)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, 'turn 1');
    await evictDurableObject(sessionStub(perch, session));
    await perch.ask(session, '/alpha');
    const said = await readSaid(perch, session);
    expect(injectedOf(said)).toEqual(['alpha']);
    expect(said.filter(({ kind }) => kind === 'skill-catalog')).toHaveLength(1);
  });

  it('is no word of the person: an export tells it by its source (INV-38)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, '/alpha hi');
    const log = await (await perch.request('GET', `/v1/sessions/${session}/export`)).text();
    const exported = log
      .split('\n')
      .filter((line) => line.includes('"user/message"'))
      .map((line) => userEvent.parse(JSON.parse(line)).message);
    const said = exported
      .filter(({ source }) => source.kind === 'user')
      .map(({ content }) => content[0]?.text);
    expect(said).toEqual(['/alpha hi']);
    expect(exported.length).toBeGreaterThan(said.length);
    expect(JSON.stringify(said)).not.toContain('BODY-A');
  });

  it('names a digest that is the digest of the published skill', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, '/beta');
    const events = await perch.events(session, 'user/message');
    const listing = z.object({
      manifest: z.string(),
      data: z.array(z.object({ name: z.string(), digest: z.string() })),
    });
    const listed = listing.parse(await (await perch.request('GET', '/v1/skills')).json());
    expect(listed.manifest).toBe(manifest);
    const digest = listed.data.find(({ name }) => name === 'beta')?.digest;
    expect(JSON.stringify(events.at(-1)?.message)).toContain(digest);
  });
});

describe('the skill tool', () => {
  it.each([
    ['zzz', 'skill_unknown'],
    ['Not A Name', 'skill_name_invalid'],
    ['secret', 'skill_not_model_invocable'],
  ])('refuses %s with its own error, and shows nothing hidden (CAT-11, INV-29)', async (name, code) => {
    const perch = await createPerch();
    const { session } = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: JSON.stringify({ name }) }] },
      { text: 'ok' },
    );
    await perch.ask(session, 'go');
    const [result] = await perch.events(session, 'tool/result');
    expect(result?.error).toBe(code);
    const text = JSON.stringify(result?.content);
    expect(text).not.toContain('BODY-S');
    expect(text).not.toContain('to-spec,');
    if (code === 'skill_unknown') expect(text).not.toContain('secret');
  });

  it("explains a skill's name that was called as a tool (CAT-10)", async () => {
    const perch = await createPerch();
    const { session } = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'alpha', arguments: '{}' }] },
      { text: 'ok' },
    );
    await perch.ask(session, 'go');
    const [result] = await perch.events(session, 'tool/result');
    expect(JSON.stringify(result?.content)).toContain('alpha is a skill');
  });
});

describe('the catalog', () => {
  it('is published once, lists what the model may load, and nothing that it may not', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, 'one');
    await perch.ask(session, 'two');
    const catalogs = (await readSaid(perch, session)).filter(({ kind }) => kind === 'skill-catalog');
    expect(catalogs).toHaveLength(1);
    for (const name of ['alpha', 'beta', 'to-specs']) expect(catalogs[0]?.text).toContain(name);
    expect(catalogs[0]?.text).not.toContain('secret');
  });
});

describe('a release', () => {
  it('is what menu, catalog, gesture and tool all have in the same step (CAT-09)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"gamma"}' }] },
      { text: 'ok' },
    );
    const before = await skillsKv.get(POINTER_KEY);
    try {
      await publishSkills({ gamma: 'BODY-G\n', beta: BODIES.beta });
      await perch.ask(session, '/gamma and /alpha');
      const said = await readSaid(perch, session);
      expect(injectedOf(said)).toEqual(['gamma']);
      const catalog = said.find(({ kind }) => kind === 'skill-catalog')?.text;
      expect(catalog).toContain('- gamma: ');
      expect(catalog).not.toContain('- alpha: ');
      const [result] = await perch.events(session, 'tool/result');
      expect(JSON.stringify(result?.content)).toContain('BODY-G');
      const listed = z.object({ data: z.array(z.object({ name: z.string() })) });
      const menu = listed.parse(await (await perch.request('GET', '/v1/skills')).json());
      expect(menu.data.map(({ name }) => name)).toEqual(['beta', 'gamma']);
    } finally {
      await skillsKv.put(POINTER_KEY, before ?? '');
    }
  });
});

describe('a bundle that cannot be read', () => {
  async function withPointer(value: string | null, check: () => Promise<void>): Promise<void> {
    const before = await skillsKv.get(POINTER_KEY);
    if (value === null) await skillsKv.delete(POINTER_KEY);
    else await skillsKv.put(POINTER_KEY, value);
    try {
      await check();
    } finally {
      await skillsKv.put(POINTER_KEY, before ?? '');
    }
  }

  /** One turn: without skills, and the header says why. */
  async function expectFault(code: string): Promise<void> {
    const perch = await createPerch();
    const { session, model } = await openSession(perch);
    expect((await perch.ask(session, '/alpha please')).reason).toEqual({ kind: 'completed' });
    const [header] = await perch.events(session, 'request/header');
    expect(header?.header).toMatchObject({ skills: { manifest: null, fault: { code } } });
    expect(injectedOf(await readSaid(perch, session))).toEqual([]);
    const [request] = await models.requests(model);
    expect(request?.body).not.toContain('"name":"skill"');
    expect(await (await perch.request('GET', '/v1/skills')).json()).toMatchObject({
      data: [],
      fault: { code },
    });
  }

  it('without a pointer: the turn runs without skills, and the header says why', async () => {
    await withPointer(null, () => expectFault('skill_bundle_missing'));
  });

  it('that names an absent manifest, and none was there before: the same', async () => {
    await withPointer(null, async () => {
      // Deleted and read so: nothing of the release before is kept.
      await expectFault('skill_bundle_missing');
      await skillsKv.put(POINTER_KEY, JSON.stringify({ manifest: sha256Hex('none'), published_at: 0 }));
      await expectFault('skill_manifest_missing');
    });
  });

  it('that names an absent manifest after a good one: the release before stays', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await perch.ask(session, 'one');
    await perch.request('GET', '/v1/skills');
    await withPointer(JSON.stringify({ manifest: sha256Hex('none'), published_at: 0 }), async () => {
      await perch.ask(session, '/alpha please');
      expect(injectedOf(await readSaid(perch, session))).toEqual(['alpha']);
      const listed = await (await perch.request('GET', '/v1/skills')).json();
      expect(listed).toMatchObject({ manifest });
      expect(listed).not.toHaveProperty('fault.code');
    });
  });

  it('is taken up again in the step after it is back (CAT-09)', async () => {
    const perch = await createPerch();
    const { session } = await openSession(perch);
    await withPointer(null, async () => {
      await perch.ask(session, '/beta');
    });
    await perch.ask(session, '/beta');
    const said = await readSaid(perch, session);
    expect(injectedOf(said)).toEqual(['beta']);
    expect(said.filter(({ kind }) => kind === 'skill-catalog')).toHaveLength(1);
  });
});
