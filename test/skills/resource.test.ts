/** The `skill_resource` tool through the real loop: bytes from KV to the model, and who may open what. */
import { evictDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { PEOPLE_ONLY, publishSkills } from '../support/skills.ts';
import { createTenant, skillText } from '../support/tenant-skills.ts';

beforeAll(async () => {
  await publishSkills({
    open: { body: 'See refs/a.md.\n', files: { 'refs/a.md': 'FIRST\r\n{{second}} $1\n', empty: '' } },
    closed: { policy: PEOPLE_ONLY, body: 'CLOSED\n', files: { 'hidden.md': 'HIDDEN-FILE' } },
  });
});

const resultEvent = z.looseObject({
  call: z.string(),
  error: z.string().optional(),
  content: z.array(z.looseObject({ text: z.string() })),
});

const reads = (skill: string, path: string, id = 'c') => ({
  tool_calls: [{ id, name: 'skill_resource', arguments: JSON.stringify({ skill, path }) }],
});

async function openReader(perch: Perch, ...responses: Parameters<typeof models.script>[1]) {
  const model = uniqueModel();
  await models.script(model, responses);
  return { session: await perch.open({ agent: 'stand-in', model: `stand-in/${model}` }), model };
}

async function readResults(perch: Perch, session: string) {
  return (await perch.events(session, 'tool/result')).map((event) => {
    const { error, content } = resultEvent.parse(event);
    return { error, text: content[0]?.text ?? '' };
  });
}

/** The result of one read in a fresh session. */
async function readOne(perch: Perch, skill: string, path: string, text = 'go') {
  const { session } = await openReader(perch, reads(skill, path), { text: 'ok' });
  await perch.ask(session, text);
  const [result] = await readResults(perch, session);
  if (!result) throw new Error('no result');
  return result;
}

describe('a file of a skill', () => {
  it('is read as it is where it is text', async () => {
    const perch = await createTenant();
    const { session, model } = await openReader(perch, reads('open', 'refs/a.md'), { text: 'ok' });
    await perch.ask(session, '/open');
    expect(await readResults(perch, session)).toEqual([
      { error: undefined, text: 'FIRST\r\n{{second}} $1\n' },
    ]);
    // Listed, not eager: the first request names the file and does not hold it.
    const [first, second] = await models.requests(model);
    expect(first?.body).toContain('refs/a.md');
    expect(first?.body).not.toContain('FIRST');
    expect(second?.body).toContain('FIRST');
  });

  it('is base64 where it is not, byte for byte', async () => {
    const perch = await createTenant();
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256);
    await perch.put('mine', {
      'SKILL.md': skillText('mine', 'x\n'),
      'logo.bin': bytes,
      'nul.txt': Uint8Array.of(65, 0, 66),
      'bom.txt': Uint8Array.of(0xef, 0xbb, 0xbf, 65),
    });
    const binary = await readOne(perch, 'mine', 'logo.bin');
    const [line, data = ''] = binary.text.split('\n');
    expect(line).toBe('This file is not text. Its 300 bytes in base64:');
    expect(Uint8Array.from(atob(data), (c) => c.charCodeAt(0))).toEqual(bytes);
    expect((await readOne(perch, 'mine', 'nul.txt')).text).toMatch(/base64:\nQQBC$/);
    expect((await readOne(perch, 'mine', 'bom.txt')).text).toBe('\uFEFFA');
    expect((await readOne(perch, 'open', 'empty')).text).toBe('The file is empty.');
  });

  it('is refused over its limit, which the error names', async () => {
    const perch = await createTenant();
    const limit = 256 * 1024;
    await perch.put('large', {
      'SKILL.md': skillText('large', 'x\n'),
      'over.txt': 'x'.repeat(limit + 1),
      'full.txt': 'x'.repeat(limit),
      'over.bin': new Uint8Array(192 * 1024 + 1),
    });
    expect(await readOne(perch, 'large', 'over.txt')).toMatchObject({
      error: 'skill_resource_too_large',
      text: expect.stringContaining(`${limit}`),
    });
    expect((await readOne(perch, 'large', 'full.txt')).text).toHaveLength(limit);
    expect(await readOne(perch, 'large', 'over.bin')).toMatchObject({
      error: 'skill_resource_too_large',
      text: expect.stringContaining(`${192 * 1024}`),
    });
  });

  it.each([
    '../closed/hidden.md',
    '/etc/passwd',
    'refs/../refs/a.md',
    './refs/a.md',
    'refs',
    'SKILL.md',
    '',
    'a\0',
  ])('is not found under %j: nothing but the list leads to a file', async (path) => {
    const result = await readOne(await createTenant(), 'open', path);
    expect(result.error).toBe('skill_resource_unknown');
    expect(result.text).toContain('Its files: empty, refs/a.md.');
  });

  it('of a skill that nobody has, or whose name is none, has the errors of the tool skill', async () => {
    const perch = await createTenant();
    const unknown = await readOne(perch, 'nobody', 'x');
    expect(unknown).toMatchObject({ error: 'skill_unknown', text: expect.not.stringContaining('closed') });
    expect((await readOne(perch, '/open', 'x')).error).toBe('skill_name_invalid');
  });
});

describe('a skill that the model may not load', () => {
  it('stays closed, its list of files too', async () => {
    const perch = await createTenant();
    for (const path of ['hidden.md', 'nothing.md']) {
      const result = await readOne(perch, 'closed', path, 'the words closed and x/closed open nothing');
      expect(result.error).toBe('skill_not_model_invocable');
      expect(result.text).not.toMatch(/HIDDEN-FILE|hidden\.md/);
    }
  });

  it('is open once a person invoked it in this session, in later turns and after an eviction', async () => {
    const perch = await createTenant();
    const { session } = await openReader(
      perch,
      reads('closed', 'hidden.md', 'c1'),
      reads('closed', 'hidden.md', 'c2'),
      { text: 'ok' },
      reads('closed', 'hidden.md', 'c3'),
      { text: 'ok' },
      { text: 'ok' },
      reads('closed', 'hidden.md', 'c4'),
      { text: 'ok' },
    );
    await perch.ask(session, '/closed');
    await perch.ask(session, 'again');
    await evictDurableObject(sessionStub(perch, session));
    await perch.ask(session, 'nothing');
    await perch.ask(session, 'again');
    const results = await readResults(perch, session);
    expect(results).toHaveLength(4);
    expect(new Set(results.map(({ text }) => text))).toEqual(new Set(['HIDDEN-FILE']));
    // Another session of the tenant has invoked nothing.
    expect((await readOne(perch, 'closed', 'hidden.md')).error).toBe('skill_not_model_invocable');
  });

  it('opens in the turn in which it is invoked, though it was asked for and refused before', async () => {
    const perch = await createTenant();
    const { session } = await openReader(
      perch,
      reads('closed', 'hidden.md', 'c1'),
      { text: 'ok' },
      reads('closed', 'hidden.md', 'c2'),
      { text: 'ok' },
    );
    await perch.ask(session, 'try');
    await perch.ask(session, '/closed');
    expect((await readResults(perch, session)).map(({ error }) => error)).toEqual([
      'skill_not_model_invocable',
      undefined,
    ]);
  });
});
