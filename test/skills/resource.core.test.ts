/** When the `skill_resource` tool is there, and what it asks of the log. */
import { describe, expect, it } from 'vitest';
import { resourceTool } from '../../durable/skills/resource-tool.ts';
import { NO_WORKSPACE } from '../support/no-workspace.ts';
import { makeContext, makeView, type Sample } from './sample-skills.ts';

const isThere = (skills: Record<string, Sample>) =>
  resourceTool.available?.({ skills: makeView(skills), env: {} });

describe('the tool for files', () => {
  it.each([
    ['there is no skill', {}, false],
    ['no skill has files', { alpha: {} }, false],
    ['a skill that the model may load has files', { alpha: { resources: ['a'] } }, true],
    [
      'a skill that people may invoke has files',
      { alpha: { resources: ['a'], modelInvocable: false } },
      true,
    ],
    [
      'only a skill that nobody can open has files',
      { alpha: { resources: ['a'], modelInvocable: false, userInvocable: false }, beta: {} },
      false,
    ],
  ])('is decided by the release: %s', (_, skills, expected) => {
    expect(isThere(skills)).toBe(expected);
  });

  it('reads the log for a closed skill alone', async () => {
    const bytes = new TextEncoder().encode('text');
    const skills = { alpha: { resources: ['a'] }, beta: { resources: ['a'], modelInvocable: false } };
    const view = makeView(skills, { resource: () => Promise.resolve(bytes) });
    let asked = 0;
    const invokedSkills = (): ReadonlySet<string> => {
      asked++;
      return new Set(['beta']);
    };
    const context = {
      ...makeContext(view),
      call: 'c',
      workspace: NO_WORKSPACE,
      env: {},
      now: () => 0,
      invokedSkills,
    };
    expect(await resourceTool.run({ skill: 'alpha', path: 'a' }, context)).toBe('text');
    expect(asked).toBe(0);
    expect(await resourceTool.run({ skill: 'beta', path: 'a' }, context)).toBe('text');
    expect(asked).toBe(1);
  });
});
