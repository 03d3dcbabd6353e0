/** What a bundle is, for a terminal or a program: the skills, then everything there is to say about them. */
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import type { ParseMode } from '../../durable/skills/parse.ts';
import type { Bundle } from './bundle.ts';
import { formatTable } from './table.ts';
import type { TestReport } from './tests.ts';

type Reported = Pick<Bundle, 'skills' | 'diagnostics'>;

export function formatBundle({ skills, diagnostics }: Reported): string {
  const rows = skills.map(({ name, tokens, userInvocable, modelInvocable, resources }) => [
    name,
    String(tokens),
    [userInvocable ? 'user' : '', modelInvocable ? 'model' : ''].filter((who) => who !== '').join(', '),
    String(resources.length),
  ]);
  const notes = sortDiagnostics(diagnostics).map(
    ({ file, line, severity, code, message }) => `${file}:${line}: ${severity} ${code}: ${message}`,
  );
  return [...formatTable(['skill', 'tokens', 'invoked by', 'files'], rows), ...notes].join('\n');
}

/** The same and the tests, as `skills:check --json` prints it. */
export function describeBundle(
  { skills, diagnostics, manifest }: Reported & Pick<Bundle, 'manifest'>,
  { mode, tests }: { mode: ParseMode; tests: TestReport },
) {
  return {
    ok: !hasRejected({ diagnostics }),
    mode,
    manifest: manifest.digest,
    tokens: skills.reduce((sum, skill) => sum + skill.tokens, 0),
    skills: skills.map((skill) => ({
      name: skill.name,
      digest: skill.digest,
      tokens: skill.tokens,
      bytes: skill.bytes,
      files: skill.resources.length,
      file_bytes: skill.resources.reduce((sum, { bytes }) => sum + bytes, 0),
      user_invocable: skill.userInvocable,
      model_invocable: skill.modelInvocable,
    })),
    diagnostics: sortDiagnostics(diagnostics).map((diagnostic) => ({
      skill: diagnostic.file.split('/', 1)[0],
      effect: describeEffect(diagnostic),
      ...diagnostic,
    })),
    tests: { run: tests.run, failed: tests.failures.length },
  };
}

/** Whether a skill was kept out, or one of its tests failed. */
export function hasRejected({ diagnostics }: Pick<Reported, 'diagnostics'>): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

/** Errors first, so that none is hidden among warnings. */
function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const rank = ({ severity }: Diagnostic): number => (severity === 'error' ? 0 : 1);
  return [...diagnostics].sort((a, b) => rank(a) - rank(b));
}

/** What came of it for the skill. */
function describeEffect({ severity, code }: Diagnostic): string {
  if (code === 'test_failed' || code === 'tests_invalid') return 'test';
  if (severity === 'error') return 'dropped';
  if (code === 'header_repaired') return 'repaired';
  if (code === 'shadowed_by_command') return 'shadowed';
  return code.startsWith('near_limit_') ? 'near_limit' : 'noted';
}
