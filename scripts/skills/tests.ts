/**
 * A skill's tests (`tests.yaml` in its folder): what a person types, and what is injected for it.
 *
 * ```yaml
 * - prompt: /release-notes for v2
 *   injects: [release-notes]
 * - prompt: see docs/release-notes
 *   injects: []
 * - prompt: write the notes
 *   not: [release-notes]
 * ```
 *
 * `injects`: these skills, in this order; an empty list: nothing at all. `not`: none of these. They are run by the
 * gesture scanner and the policies of the bundle that they came with, as a session would.
 */
import { isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import { scanGestures } from '../../durable/skills/gesture.ts';
import { findUserInvocable, HOST_COMMANDS } from '../../durable/skills/invocable.ts';
import type { Bundle, SkillTests } from './bundle.ts';

const names = z.array(z.string());
const testCases = z.array(
  z
    .strictObject({ prompt: z.string().min(1), injects: names.optional(), not: names.optional() })
    .refine(({ injects, not }) => injects !== undefined || not !== undefined, {
      error: 'a test needs `injects` or `not`',
    }),
);
type TestCase = z.infer<typeof testCases>[number];

export interface TestReport {
  /** Cases that were run. */
  run: number;
  /** One error for each case that failed and each file that cannot be read. */
  failures: Diagnostic[];
}

export function runSkillTests(
  { skills, tests }: Pick<Bundle, 'skills' | 'tests'>,
  commands: readonly string[] = HOST_COMMANDS,
): TestReport {
  const find = (name: string) => skills.find((skill) => skill.name === name);
  const report: TestReport = { run: 0, failures: [] };
  for (const file of tests) {
    const read = readTests(file);
    if (read.kind === 'invalid') {
      report.failures.push(read.fault);
      continue;
    }
    for (const { line, test } of read.cases) {
      report.run++;
      const injected = scanGestures(test.prompt).filter((name) =>
        findUserInvocable({ find }, name, commands),
      );
      const message = explainFailure(test, injected);
      if (message === null) continue;
      report.failures.push({ file: file.file, line, severity: 'error', code: 'test_failed', message });
    }
  }
  return report;
}

type ReadTests =
  | { kind: 'cases'; cases: { line: number; test: TestCase }[] }
  | { kind: 'invalid'; fault: Diagnostic };

function readTests({ file, text }: SkillTests): ReadTests {
  const fail = (line: number, message: string): ReadTests => ({
    kind: 'invalid',
    fault: { file, line, severity: 'error', code: 'tests_invalid', message },
  });
  const lines = new LineCounter();
  const document = parseDocument(text, { schema: 'failsafe', lineCounter: lines, logLevel: 'silent' });
  const lineAt = (path: readonly PropertyKey[]): number => {
    const [first] = path;
    const node = typeof first === 'number' ? document.getIn([first], true) : document.contents;
    return isNode(node) && node.range ? lines.linePos(node.range[0]).line : 1;
  };
  const [error] = document.errors;
  if (error !== undefined) {
    return fail(lines.linePos(error.pos[0]).line, `Not YAML: ${error.message.split('\n', 1)[0] ?? ''}`);
  }
  const read = testCases.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (read.success) {
    return { kind: 'cases', cases: read.data.map((test, index) => ({ line: lineAt([index]), test })) };
  }
  const [issue] = read.error.issues;
  const where = issue?.path.join('.') ?? '';
  return fail(lineAt(issue?.path ?? []), `${where === '' ? '' : `${where}: `}${issue?.message ?? 'invalid'}`);
}

/** Null where the test holds. */
function explainFailure({ prompt, injects, not = [] }: TestCase, injected: readonly string[]): string | null {
  const found = `${JSON.stringify(prompt)} injects ${injected.length === 0 ? 'nothing' : injected.join(', ')}`;
  if (injects?.length === 0 && injected.length > 0) return `${found}; expected nothing.`;
  if (injects !== undefined && !holdsInOrder(injected, injects)) {
    return `${found}; expected ${injects.join(', ')}.`;
  }
  const unwanted = not.filter((name) => injected.includes(name));
  return unwanted.length === 0 ? null : `${found}; not expected: ${unwanted.join(', ')}.`;
}

function holdsInOrder(all: readonly string[], wanted: readonly string[]): boolean {
  let at = 0;
  for (const name of all) if (name === wanted[at]) at++;
  return at === wanted.length;
}
