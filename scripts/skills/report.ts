/** What a bundle is, for a terminal: a table of the skills, then everything there is to say about them. */
import type { Bundle } from './bundle.ts';

export function formatBundle({ skills, diagnostics }: Bundle): string {
  const rows = skills.map(({ name, tokens, userInvocable, modelInvocable, resources }) => [
    name,
    String(tokens),
    [userInvocable ? 'user' : '', modelInvocable ? 'model' : ''].filter((who) => who !== '').join(', '),
    String(resources.length),
  ]);
  const table = [['skill', 'tokens', 'invoked by', 'files'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const notes = diagnostics.map(
    ({ file, line, severity, code, message }) => `${file}:${line}: ${severity} ${code}: ${message}`,
  );
  return [...lines, ...notes].join('\n');
}

/** Whether a skill was kept out. */
export function hasRejected({ diagnostics }: Bundle): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}
