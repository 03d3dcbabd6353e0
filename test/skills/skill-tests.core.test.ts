import { describe, expect, it } from 'vitest';
import { runSkillTests } from '../../scripts/skills/tests.ts';
import { makeEntry } from './sample-skills.ts';

const skills = [
  makeEntry('alpha'),
  makeEntry('beta'),
  makeEntry('auto', { userInvocable: false }),
  makeEntry('compact'),
];

const run = (text: string) =>
  runSkillTests({ skills, tests: [{ skill: 'alpha', file: 'alpha/tests.yaml', text }] }, ['compact']);

describe("a skill's tests", () => {
  it.each([
    '- {prompt: /alpha x, injects: [alpha]}',
    '- {prompt: /beta and /alpha, injects: [beta, alpha], not: [auto]}',
    '- {prompt: /alpha and /beta, injects: [beta]}',
    '- {prompt: see x/alpha, injects: []}',
    '- {prompt: /auto /compact /nothing, injects: []}',
    '- {prompt: /alpha, not: [beta]}',
    '- prompt: |\n    one\n    /alpha\n  injects:\n    - alpha',
    '[]',
  ])('hold: %s', (text) => expect(run(text).failures).toEqual([]));

  it.each([
    ['- {prompt: x/alpha, injects: [alpha]}', 1, 'injects nothing; expected alpha'],
    [
      '# first\n- {prompt: /alpha, injects: [alpha]}\n- {prompt: /alpha, injects: []}',
      3,
      'injects alpha; expected nothing',
    ],
    ['- {prompt: /alpha /beta, injects: [beta, alpha]}', 1, 'expected beta, alpha'],
    ['- {prompt: /alpha /beta, not: [beta]}', 1, 'not expected: beta'],
    ['- {prompt: /auto, injects: [auto]}', 1, 'injects nothing'],
    ['- {prompt: /compact, injects: [compact]}', 1, 'injects nothing'],
  ])('fail at their line, with what came instead: %s', (text, line, part) => {
    const { failures } = run(text);
    expect(failures).toMatchObject([
      { file: 'alpha/tests.yaml', line, severity: 'error', code: 'test_failed' },
    ]);
    expect(failures[0]?.message).toContain(part);
  });

  it.each([
    ['not a list', 'prompt: /alpha', 1],
    ['a field that is misspelt', '- {prompt: a, injects: []}\n- {prompt: /alpha, inject: [alpha]}', 2],
    ['nothing to expect', '- {prompt: /alpha}', 1],
    ['no prompt', '- {injects: [alpha]}', 1],
    ['a name where a list is meant', '- {prompt: /alpha, injects: alpha}', 1],
    ['no YAML', '- prompt: [', 1],
    ['nothing at all', '', 1],
  ])('that cannot be read are an error and not passed over: %s', (_, text, line) => {
    const { run: count, failures } = run(text);
    expect(count).toBe(0);
    expect(failures).toMatchObject([{ line, severity: 'error', code: 'tests_invalid' }]);
  });

  it('counts what was run', () => {
    expect(run('- {prompt: /alpha, injects: [alpha]}\n- {prompt: x, injects: [alpha]}').run).toBe(2);
  });
});
