/** A tenant's skill over the deployment's: menu, catalog, gesture and tool have one winner, in the same step. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { models, type Perch, uniqueModel } from '../support/perch.ts';
import { PEOPLE_ONLY, publishSkills } from '../support/skills.ts';
import { createTenant, listSkills, skillText } from '../support/tenant-skills.ts';

const userEvent = z.looseObject({
  turn: z.number(),
  message: z.looseObject({
    source: z.looseObject({ kind: z.string(), entries: z.array(z.string()).optional() }),
    content: z.array(z.looseObject({ text: z.string() })),
  }),
});
const resultEvent = z.looseObject({
  turn: z.number(),
  error: z.string().optional(),
  content: z.array(z.looseObject({ text: z.string() })),
});

/** A session whose model loads `shared` in the first step of each turn. */
async function openLoader(perch: Perch): Promise<string> {
  const model = uniqueModel();
  const load = { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"shared"}' }] };
  await models.script(model, Array.from({ length: 4 }, () => [load, { text: 'ok' }]).flat());
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

/** What a turn with `/shared` was given by each way. */
async function askAll(perch: Perch, session: string) {
  const menu = (await listSkills(perch)).data.find(({ name }) => name === 'shared');
  const { turn } = await perch.ask(session, 'do it /shared');
  const messages = (await perch.events(session, 'user/message'))
    .map((event) => userEvent.parse(event))
    .filter((event) => event.turn === turn);
  const find = (kind: string) => messages.find(({ message }) => message.source.kind === kind)?.message;
  const results = (await perch.events(session, 'tool/result')).map((event) => resultEvent.parse(event));
  const result = results.find((event) => event.turn === turn);
  return {
    menu,
    catalog: find('skill-catalog')?.source.entries,
    gesture: find('skill-invocation')?.content[0]?.text,
    tool: result?.error ?? result?.content[0]?.text,
  };
}

describe("a tenant's skill of the deployment's name", () => {
  it('shadows it everywhere at once, and uncovers it everywhere at once', async () => {
    await publishSkills({ shared: 'DEPLOYMENT\n', common: 'COMMON\n' });
    const perch = await createTenant();
    const session = await openLoader(perch);
    const block = (body: string) => `<skill_content name="shared">\n${body}\n</skill_content>`;

    const before = await askAll(perch, session);
    expect(before).toMatchObject({ menu: { layer: 'deployment' }, catalog: ['common', 'shared'] });
    expect([before.gesture, before.tool]).toEqual([block('DEPLOYMENT'), block('DEPLOYMENT')]);

    await perch.put('shared', { 'SKILL.md': skillText('shared', 'TENANT\n') });
    const covered = await askAll(perch, session);
    expect(covered).toMatchObject({ menu: { layer: 'tenant' }, catalog: ['common', 'shared'] });
    expect([covered.gesture, covered.tool]).toEqual([block('TENANT'), block('TENANT')]);

    // The stricter policy of the nearer layer holds: there is no way around it to the skill below.
    await perch.put('shared', { 'SKILL.md': skillText('shared', 'PEOPLE\n', PEOPLE_ONLY) });
    const closed = await askAll(perch, session);
    expect(closed).toEqual({
      menu: expect.objectContaining({ layer: 'tenant', model_invocable: false }),
      catalog: ['common'],
      gesture: block('PEOPLE'),
      tool: 'skill_not_model_invocable',
    });

    await perch.request('DELETE', '/v1/skills/shared');
    const after = await askAll(perch, session);
    expect(after).toEqual(before);
  });

  it('changes nothing for another tenant', async () => {
    await publishSkills({ shared: 'DEPLOYMENT\n' });
    const [mine, other] = [await createTenant(), await createTenant()];
    await mine.put('shared', { 'SKILL.md': skillText('shared', 'TENANT\n') });
    const seen = await askAll(other, await openLoader(other));
    expect(seen.menu?.layer).toBe('deployment');
    expect(seen.gesture).toContain('DEPLOYMENT');
    expect(seen.tool).toContain('DEPLOYMENT');
  });
});
