import { describe, expect, it } from 'vitest';
import { runLanes } from '../../durable/context/index.ts';
import type { Injection, LaneContext, LaneDefinition, LaneOutcome } from '../../durable/context/types.ts';
import { PerchError } from '../../durable/errors.ts';
import { composeLayers, createLayer } from '../../durable/prompt/registry.ts';
import { listUserInvocable, skillsPlugin } from '../../durable/skills/index.ts';
import { catalogLane, createSkillLane, skillLane } from '../../durable/skills/lanes.ts';
import { renderSkillContent } from '../../durable/skills/render.ts';
import { skillTool } from '../../durable/skills/tool.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import type { MessageSource } from '../../durable/transcript/events.ts';
import { NO_WORKSPACE } from '../support/no-workspace.ts';
import { makeContext, makeEntry, makeMessage, makeView, type Sample } from './sample-skills.ts';

function entered(outcome: LaneOutcome): Injection[] {
  if (outcome.kind === 'reject') throw new Error(outcome.message);
  return outcome.inject;
}

async function inject(skills: Record<string, Sample>, ...texts: string[]): Promise<Injection[]> {
  const context = makeContext(makeView(skills), { claimed: texts.map((text) => makeMessage(text)) });
  return entered(await skillLane.run(context));
}

const textOf = ({ content }: Pick<Injection, 'content'>): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const namesOf = (found: Injection[]): string[] =>
  found.map(({ source }) => (source.kind === 'skill-invocation' ? source.name : source.kind));

async function load(view: SkillView, name: string): Promise<string> {
  const context = {
    ...makeContext(view),
    call: 'call_1',
    workspace: NO_WORKSPACE,
    env: {},
    invokedSkills: () => new Set<string>(),
    now: () => 0,
  };
  const output = await skillTool.run({ name }, context);
  return typeof output === 'string' ? output : textOf(output);
}

async function refusal(view: SkillView, name: string) {
  const error: unknown = await load(view, name).catch((caught: unknown) => caught);
  if (!(error instanceof PerchError)) throw new Error(`loaded: ${String(error)}`);
  return error.data;
}

const SECRET: Sample = { modelInvocable: false, body: 'BODY-S', description: 'HIDDEN' };

describe('a typed /name', () => {
  it('INV-01: injects a skill that the model may not load', async () => {
    const [found, ...more] = await inject({ secret: SECRET }, '/secret ship it');
    const { digest } = makeEntry('secret', SECRET);
    expect(found?.source).toEqual({ kind: 'skill-invocation', name: 'secret', form: 'instructions', digest });
    expect(found && textOf(found)).toContain('BODY-S');
    expect(more).toEqual([]);
  });

  it('INV-03: injects exactly what the listing offers', async () => {
    const skills = { secret: SECRET, alpha: {}, auto: { userInvocable: false } };
    const offered = listUserInvocable(makeView(skills)).map(({ name }) => name);
    expect(offered).toEqual(['alpha', 'secret']);
    expect(namesOf(await inject(skills, 'summarise, then /alpha /auto /secret'))).toEqual(offered);
  });

  it('INV-10: that names no skill stays prose', async () => {
    expect(await inject({ alpha: {} }, 'the route /login returns 500 and /constructor too')).toEqual([]);
  });

  it('INV-31: is not looked for in what is injected', async () => {
    const skills = { alpha: { body: 'first run /beta, then /alpha again' }, beta: {} };
    expect(namesOf(await inject(skills, '/alpha'))).toEqual(['alpha']);
  });

  it('INV-41: never becomes a near match', async () => {
    const skills = { 'to-spec': { modelInvocable: false }, 'to-specs': {} };
    expect(namesOf(await inject(skills, '/to-spec'))).toEqual(['to-spec']);
    expect(await inject({ 'to-specs': {} }, '/to-spec')).toEqual([]);
  });

  it('INV-42: injects once a step, in first-seen order, over all that is claimed', async () => {
    expect(namesOf(await inject({ alpha: {}, beta: {} }, '/beta x /alpha', 'again /alpha /beta'))).toEqual([
      'beta',
      'alpha',
    ]);
    expect(namesOf(await inject({ alpha: {} }, 'a later turn: /alpha'))).toEqual(['alpha']);
  });

  it('INV-35: goes to the command of the host where it has the name, every time', async () => {
    const view = makeView({ compact: {}, alpha: {} });
    const context = makeContext(view, { claimed: [makeMessage('/compact /alpha')] });
    expect(namesOf(entered(await createSkillLane(['compact']).run(context)))).toEqual(['alpha']);
    expect(listUserInvocable(view, ['compact']).map(({ name }) => name)).toEqual(['alpha']);
  });

  it('INV-24: comes with what other lanes add for the same message, and last', async () => {
    const references: LaneDefinition = {
      lane: 'references',
      name: 'zz-files',
      run: ({ claimed }) => ({
        kind: 'enter',
        inject: claimed.map(() => ({
          source: { kind: 'references', name: 'file.txt' },
          content: [{ type: 'text', text: 'the file' }],
        })),
      }),
    };
    const context = makeContext(makeView({ alpha: {} }), { claimed: [makeMessage('/alpha plus @file.txt')] });
    const plugins = [skillsPlugin, { name: 'files', lanes: [references] }];
    for (const order of [plugins, plugins.toReversed()]) {
      const { lanes } = composeLayers([createLayer(order)]);
      const outcome = await runLanes(lanes, context, () => makeMessage('').id);
      const kinds = outcome.kind === 'enter' ? outcome.messages.map(({ source }) => source.kind) : [];
      expect(kinds).toEqual(['user', 'references', 'skill-catalog', 'skill-invocation']);
    }
  });

  it('fails loudly where the body cannot be read', async () => {
    const view = makeView({ alpha: {} }, { body: () => Promise.reject(new Error('gone')) });
    const context = makeContext(view, { claimed: [makeMessage('/alpha')] });
    await expect(Promise.resolve(skillLane.run(context))).rejects.toThrow('gone');
  });
});

describe('the text of a skill', () => {
  it('INV-27: is the same bytes from /name and from the tool, with its files named', async () => {
    const skills = { alpha: { body: 'see refs/a.md', resources: ['refs/b.md', 'refs/a.md'] } };
    const [found] = await inject(skills, '/alpha');
    const typed = found && textOf(found);
    expect(await load(makeView(skills), 'alpha')).toBe(typed);
    expect(typed).toBe(
      '<skill_content name="alpha">\nFiles of this skill, relative to its folder: refs/a.md, refs/b.md\n\nsee refs/a.md\n</skill_content>',
    );
  });

  it.each([
    ['TPL-06: prices', '| $10.00 | $50.00 | $1 $& $` $$ |'],
    ['TPL-07: a command in a fence', '```\n!`rm -rf x`\n```'],
    ['TPL-26: backslashes, dollars and braces', 'cost \\$5 and {{name}} {{ x }} {{{y}}}'],
    ['a BOM, CRLF and odd spaces', '\uFEFFone\r\n\u3000two  \r\n'],
  ])('keeps %s on both ways', async (_, body) => {
    const [found] = await inject({ alpha: { body } }, '/alpha go');
    const end = body.endsWith('\n') ? '' : '\n';
    expect(found && textOf(found)).toBe(`<skill_content name="alpha">\n${body}${end}</skill_content>`);
    expect(await load(makeView({ alpha: { body } }), 'alpha')).toBe(found && textOf(found));
  });

  it('names files sorted by code unit, in whatever order the entry has them', () => {
    const entry = makeEntry('alpha', { resources: ['a', 'B', 'a.b'] });
    const reversed = { ...entry, resources: [...entry.resources].reverse() };
    expect(renderSkillContent(reversed, 'x')).toContain(': B, a, a.b\n');
    expect(renderSkillContent(reversed, 'x')).toBe(renderSkillContent(entry, 'x'));
  });

  it('has no line about files where there are none, and stands for an empty body', () => {
    expect(renderSkillContent(makeEntry('alpha'), '')).toBe('<skill_content name="alpha">\n</skill_content>');
  });
});

describe('the skill tool', () => {
  it('CAT-11: lists what the model may load when a name is unknown, and no hidden name', async () => {
    const error = await refusal(makeView({ alpha: {}, secret: SECRET }), 'zzz');
    expect(error).toMatchObject({ code: 'skill_unknown', facts: { available: ['alpha'] } });
    expect(error.detail).toContain('alpha');
    expect(JSON.stringify(error)).not.toMatch(/secret|BODY-S|HIDDEN/);
  });

  it('INV-29: refuses a hidden skill without telling the user to type what they typed', async () => {
    const error = await refusal(makeView({ alpha: {}, secret: SECRET }), 'secret');
    expect(error.code).toBe('skill_not_model_invocable');
    expect(error.detail).not.toMatch(/\/secret|\btype\b|ask the user|BODY-S|HIDDEN/i);
    expect(error.detail).toMatch(/in the conversation, follow it/);
  });

  it('INV-41: does not guess', async () => {
    const view = makeView({ 'to-spec': SECRET, 'to-specs': {} });
    expect((await refusal(view, 'to-spec')).code).toBe('skill_not_model_invocable');
    expect((await refusal(view, 'to-spe')).code).toBe('skill_unknown');
    expect((await refusal(view, 'constructor')).code).toBe('skill_unknown');
  });

  it.each(['', '/alpha', 'Alpha', 'al pha', '../alpha', 'a'.repeat(65)])(
    'says that %j is no name',
    async (name) => {
      const error = await refusal(makeView({ alpha: {}, secret: SECRET }), name);
      expect(error.code).toBe('skill_name_invalid');
      expect(error.detail).not.toContain('secret');
    },
  );

  it('INV-39: loads a skill that is called batch, or like anything else', async () => {
    const view = makeView({ batch: { body: 'BODY-B' }, skill: {}, constructor: {} });
    expect(await load(view, 'batch')).toContain('BODY-B');
    expect(await load(view, 'skill')).toContain('BODY of skill');
    expect(await load(view, 'constructor')).toContain('BODY of constructor');
  });

  it('loads a skill that people may not invoke', async () => {
    expect(await load(makeView({ auto: { userInvocable: false } }), 'auto')).toContain('BODY of auto');
  });

  it('is there only where something is model-invocable', () => {
    const isThere = (skills: Record<string, Sample>) =>
      skillTool.available?.({ skills: makeView(skills), env: {} });
    expect(isThere({ secret: SECRET, alpha: {} })).toBe(true);
    expect(isThere({ secret: SECRET })).toBe(false);
    expect(isThere({})).toBe(false);
  });
});

describe('the catalog lane', () => {
  const publish = async (context: LaneContext): Promise<Injection[]> =>
    entered(await catalogLane.run(context));
  const published = async (view: SkillView): Promise<MessageSource> => {
    const [first] = await publish(makeContext(view));
    if (first === undefined) throw new Error('nothing was published');
    return first.source;
  };
  const alpha = makeView({ alpha: {} });

  it('publishes when the surface has none', async () => {
    const [first] = await publish(makeContext(alpha));
    expect(first?.source).toMatchObject({ kind: 'skill-catalog', form: 'catalog', entries: ['alpha'] });
    expect(first?.source).not.toHaveProperty('update');
  });

  it('says nothing while the set is the same', async () => {
    expect(await publish(makeContext(alpha, { catalog: await published(alpha) }))).toEqual([]);
  });

  it('CAT-09: publishes an update when the set is another', async () => {
    const next = makeView({ alpha: {}, gamma: {} });
    const [update] = await publish(makeContext(next, { catalog: await published(alpha) }));
    expect(update?.source).toMatchObject({ update: true, entries: ['alpha', 'gamma'] });
    expect(update && textOf(update)).toMatch(/replaces every earlier/);
  });

  it('publishes an empty list once, when nothing is left of one that was published', async () => {
    const nothing = makeView({ secret: SECRET });
    const [empty, ...more] = await publish(
      makeContext(nothing, { catalog: await published(alpha), withTool: false }),
    );
    expect(empty?.source).toMatchObject({ entries: [], update: true });
    expect(empty && textOf(empty)).not.toMatch(/secret|alpha/);
    expect(more).toEqual([]);
    if (empty === undefined) throw new Error('no list');
    expect(await publish(makeContext(nothing, { catalog: empty.source, withTool: false }))).toEqual([]);
    expect(await publish(makeContext(alpha, { catalog: empty.source }))).toHaveLength(1);
  });

  it('publishes nothing where there is nothing and never was', async () => {
    expect(await publish(makeContext(makeView({ secret: SECRET })))).toEqual([]);
  });

  it('publishes nothing to an agent that does not have the tool', async () => {
    expect(await publish(makeContext(alpha, { withTool: false }))).toEqual([]);
  });

  it('keeps the last catalog while the bundle cannot be read', async () => {
    const faulty = makeView({}, { manifest: null, fault: { code: 'skill_bundle_missing', message: 'gone' } });
    expect(await publish(makeContext(faulty, { catalog: await published(alpha), withTool: false }))).toEqual(
      [],
    );
  });
});
