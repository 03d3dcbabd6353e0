/**
 * `npm run test:guards`: takes one guard after the other out of a copy of the code and runs the part of the kill tests
 * that must notice. A guard that nobody misses is either none or lacks a test.
 *
 *   --only <number>[,<number>…]    some of them
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { runCommand } from '../check/command.ts';
import { GUARDS, type Guard } from './guard-list.ts';

/** What a copy needs none of. */
const LEFT_OUT = new Set(['node_modules', '.git', '.wrangler', '.perch', 'docs']);

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const { values: options } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = options.only?.split(',').map(Number);
const chosen = GUARDS.map((guard, i) => ({ guard, number: i + 1 })).filter(
  ({ number }) => wanted?.includes(number) ?? true,
);
await checkTexts();
let green = 0;
for (const { guard, number } of chosen) {
  const begun = performance.now();
  const outcome = await tryGuard(guard);
  if (!outcome.isRed) green++;
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  console.log(`${outcome.isRed ? 'red  ' : 'GREEN'} ${number}. ${guard.what} (${seconds} s)`);
  if (outcome.finding !== '') console.log(`      ${outcome.finding}`);
}
console.log(`guards ${chosen.length}, red ${chosen.length - green}, green ${green}`);
process.exitCode = green === 0 ? 0 : 1;

/** Before the first of them: a guard whose text has moved is found out at once. */
async function checkTexts(): Promise<void> {
  for (const { file, from } of chosen.flatMap(({ guard }) => guard.edits)) {
    if (!(await readFile(file, 'utf8')).includes(from))
      throw new Error(`${file} does not hold this:\n${from}`);
  }
}

async function tryGuard(guard: Guard): Promise<{ isRed: boolean; finding: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'perch-guard-'));
  try {
    await cp('.', folder, {
      recursive: true,
      filter: (path) => !LEFT_OUT.has(basename(path)),
    });
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    for (const edit of guard.edits) await applyEdit(folder, edit);
    const { ok, output } = await runCommand('vitest', ['run', '--project', 'faults', ...guard.files], {
      cwd: folder,
      env: { FAULTS_ONLY: guard.scenarios.join(','), FAULTS_QUICK: 'yes' },
    });
    const finding = findReason(output);
    // A copy that does not even load proves nothing.
    if (!ok && finding === '') throw new Error(output.slice(-3_000));
    return { isRed: !ok, finding };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function applyEdit(folder: string, { file, from, to }: Guard['edits'][number]): Promise<void> {
  const path = join(folder, file);
  const text = await readFile(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} does not hold this once:\n${from}`);
  await writeFile(
    path,
    text.replace(from, () => to),
  );
}

/** The first finding that a kill test prints, with its case. */
function findReason(output: string): string {
  const plain = stripVTControlCharacters(output);
  const [, place = '', finding = ''] =
    /^([a-z-]+:[a-z.-]+:\d+:.*)\n {2}(.*: (?:lost|doubled|stuck|broken): .*)$/im.exec(plain) ?? [];
  if (finding !== '') return `${place}: ${finding}`.slice(0, 240);
  return (/^ *"detail": (.*)$|^AssertionError: (.*)$/m.exec(plain)?.[0] ?? '').trim().slice(0, 240);
}
