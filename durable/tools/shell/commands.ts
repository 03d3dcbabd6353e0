/** The package's commands: which of them there are, some of them put right, and each of them behind the brake. */
import { Buffer } from 'node:buffer';
import type { BashOptions, Command, CommandContext, ExecResult } from 'just-bash/browser';
import { BRAKE_NAME, type Brake } from './brake.ts';
import { isWithinEdits } from './edit-distance.ts';
import { MAX_TEXT_BYTES } from './limits.ts';

type CommandName = NonNullable<BashOptions['commands']>[number];
type Context = Parameters<Command['execute']>[1];

/**
 * Compression needs what workerd does not have, and HTML a document; `rg` says that it found nothing where a file has too
 * many lines for it; `fold` needs thirty times the memory of what it reads; a shell that was just made has no history.
 */
const LEFT_OUT = new Set(['gzip', 'gunzip', 'zcat', 'html-to-markdown', 'rg', 'fold', 'history']);

/** Lines by which two files may differ: comparing takes about a second there, and grows with the square. */
const MAX_DIFFERENT_LINES = 2_000;

/** `names` are those of the package. */
export function chooseCommands(names: readonly string[]): CommandName[] {
  return names.filter((name): name is CommandName => !LEFT_OUT.has(name));
}

type Run = (args: string[], context: Context) => Promise<ExecResult>;

/** `refusals` is what the file system refused so far. */
export function createCommands(
  names: readonly string[],
  brake: Brake,
  refusals: readonly string[],
): Command[] {
  const mended = new Map<string, Run>([
    ['ls', list],
    ['ln', refuseLink],
    ['diff', compare],
    ['rm', (args, context) => remove(args, context, refusals)],
  ]);
  return names.map((name) => {
    const run = mended.get(name) ?? ((args, context) => runOriginal(context, args));
    return { name, execute: (args, context) => runBehind(brake, context, name, () => run(args, context)) };
  });
}

/** Ends the script once the brake is pulled, before the command and after it. */
async function runBehind(
  brake: Brake,
  { executionScope }: Context,
  name: string,
  run: () => Promise<ExecResult>,
): Promise<ExecResult> {
  // No run may use that much: it throws, and so does everything else that the script would still do.
  const endScript = (): void => {
    if (brake.stop !== null) executionScope?.consumeWork(Number.MAX_SAFE_INTEGER, BRAKE_NAME);
  };
  endScript();
  brake.running++;
  try {
    const result = await run();
    // Not every command of the package knows the limit.
    if (result.stdout.length > MAX_TEXT_BYTES) {
      const message = `${name}: its output has over ${MAX_TEXT_BYTES} bytes`;
      brake.pull({ kind: 'refused', message });
    }
    return result;
  } finally {
    brake.running--;
    endScript();
  }
}

function runOriginal(
  { origCommand }: Pick<CommandContext, 'origCommand'>,
  args: string[],
): Promise<ExecResult> {
  if (origCommand === undefined) throw new Error('the command stands for none of the shell');
  return origCommand(args);
}

/** The package's `ls` puts an empty line between files, so that counting its lines goes wrong, and passes over `-t`. */
async function list(args: string[], context: Context): Promise<ExecResult> {
  const { flags, operands } = splitArguments(args);
  if (flags.some((flag) => /^-[^-]*t/.test(flag))) return fail('ls: -t is not supported here\n', 2);
  if (operands.length < 2) return runOriginal(context, args);
  const keepsDirectories = flags.some((flag) => flag === '--directory' || /^-[^-]*d/.test(flag));
  const namesItself = flags.some((flag) => flag === '--recursive' || /^-[^-]*R/.test(flag));
  const files: ExecResult[] = [];
  const directories: ExecResult[] = [];
  for (const operand of operands) {
    const listed = await runOriginal(context, [...flags, '--', operand]);
    if (keepsDirectories || !(await isDirectory(operand, context))) files.push(listed);
    else directories.push(namesItself ? listed : { ...listed, stdout: `${operand}:\n${listed.stdout}` });
  }
  const shown = [files.map(({ stdout }) => stdout).join(''), ...directories.map(({ stdout }) => stdout)];
  const all = [...files, ...directories];
  return {
    stdout: shown.filter((part) => part !== '').join('\n'),
    stderr: all.map(({ stderr }) => stderr).join(''),
    exitCode: Math.max(...all.map(({ exitCode }) => exitCode)),
  };
}

function splitArguments(args: readonly string[]): { flags: string[]; operands: string[] } {
  const end = args.indexOf('--');
  const before = end < 0 ? args : args.slice(0, end);
  const isFlag = (arg: string): boolean => arg.startsWith('-') && arg.length > 1;
  return {
    flags: before.filter(isFlag),
    operands: [...before.filter((arg) => !isFlag(arg)), ...(end < 0 ? [] : args.slice(end + 1))],
  };
}

async function isDirectory(operand: string, { fs, cwd }: Context): Promise<boolean> {
  try {
    return (await fs.stat(fs.resolvePath(cwd, operand))).isDirectory;
  } catch {
    // It is not there: the listing says so.
    return false;
  }
}

/** The package's `ln` removes what is in the way before it finds that there are no links. */
function refuseLink(): Promise<ExecResult> {
  return Promise.resolve(fail('ln: there are no links here: copy or move the file\n', 1));
}

/** The package's `rm -f` says nothing and succeeds when it removed nothing. */
async function remove(args: string[], context: Context, refusals: readonly string[]): Promise<ExecResult> {
  const before = refusals.length;
  const removed = await runOriginal(context, args);
  const refused = refusals.slice(before).map((reason) => `rm: ${reason}\n`);
  return refused.length === 0 ? removed : { ...removed, stderr: refused.join(''), exitCode: 1 };
}

async function compare(args: string[], context: Context): Promise<ExecResult> {
  const { operands } = splitArguments(args);
  const [left, right] = operands;
  if (left !== undefined && right !== undefined && operands.length === 2) {
    const [a, b] = [await readLines(left, context), await readLines(right, context)];
    if (a !== null && b !== null && !isWithinEdits(a, b, MAX_DIFFERENT_LINES)) {
      const rule = `over ${MAX_DIFFERENT_LINES} lines: too much to compare`;
      return fail(`diff: ${left} and ${right} differ by ${rule}\n`, 2);
    }
  }
  return runOriginal(context, args);
}

/** A character a byte; null where it cannot be read: the command itself says why. */
async function readLines(operand: string, { fs, cwd, stdin }: Context): Promise<string[] | null> {
  if (operand === '-') return String(stdin).split('\n');
  try {
    const bytes = await fs.readFileBuffer(fs.resolvePath(cwd, operand));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').split('\n');
  } catch {
    return null;
  }
}

function fail(stderr: string, exitCode: number): ExecResult {
  return { stdout: '', stderr, exitCode };
}
