/** One run of a script: a new shell over the session's files, within its limits. */
import type { BashExecResult } from 'just-bash/browser';
import { pause, waitWithTimer } from '../../time-limit.ts';
import type { Workspace } from '../../workspace/types.ts';
import { describeFailure } from '../describe-failure.ts';
import { type Brake, createBrake, type Stop } from './brake.ts';
import { chooseCommands, createCommands } from './commands.ts';
import { createDevices } from './devices.ts';
import { createFileSystem } from './file-system.ts';
import { limitRun } from './limits.ts';

/** File operations between two pauses: some milliseconds of work. */
const OPERATIONS_PER_PAUSE = 64;

/** Milliseconds by which the shell's own limit is longer: it takes along what was printed. */
const GRACE_MS = 5_000;

export interface Script {
  text: string;
  /** Milliseconds. */
  timeoutMs: number;
  workspace: Workspace;
  /** Stops the run, which then rejects with its reason. */
  signal: AbortSignal;
}

export interface Run {
  stdout: string;
  stderr: string;
  exitStatus: number;
  /** Why the script was ended before it was through. */
  stop: Stop | null;
  /** What the workspace refused, in sentences: commands often leave out the reason. */
  refusals: string[];
}

/** What the script itself does wrong is told in the run's exit status. Rejects where `signal` fires. */
export async function runScript({ text, timeoutMs, workspace, signal }: Script): Promise<Run> {
  const { Bash, getCommandNames } = await import('just-bash/browser');
  const brake = createBrake();
  const refusals: string[] = [];
  const names = chooseCommands(getCommandNames());
  const shell = new Bash({
    fs: createFileSystem({
      workspace,
      devices: createDevices(names),
      brake,
      pass: createPasser(brake, signal),
      onRefusal: (reason) => refusals.push(reason),
    }),
    cwd: workspace.cwd,
    env: { HOME: workspace.cwd, USER: 'user', LANG: 'C.UTF-8' },
    commands: names,
    customCommands: createCommands(names, brake, refusals),
    sleep: (ms) => sleepUnless(ms, brake.pulled),
    executionLimits: limitRun(timeoutMs + GRACE_MS),
    // It would take functions away from the whole isolate, other sessions included, while a script runs.
    defenseInDepth: false,
  });
  const limit = waitWithTimer(timeoutMs);
  void limit.done.then(() => brake.pull({ kind: 'time' }));
  // Not by a signal of the shell's own, with which each of its commands takes 17 ms in workerd, and without it 0.1.
  const cancel = (): void => brake.pull({ kind: 'cancelled' });
  signal.addEventListener('abort', cancel);
  try {
    signal.throwIfAborted();
    const { stdout, stderr, exitCode } = await withoutThrowing(shell.exec(text, { rawScript: true }));
    signal.throwIfAborted();
    return { stdout, stderr, exitStatus: toExitStatus(brake.stop, exitCode), stop: brake.stop, refusals };
  } finally {
    limit.cancel();
    signal.removeEventListener('abort', cancel);
  }
}

/** As `timeout` says it, and as a redirect that fails. */
function toExitStatus(stop: Stop | null, exitCode: number): number {
  if (stop === null) return exitCode;
  return stop.kind === 'time' ? 124 : 1;
}

/** What the shell itself does not foresee ends the script, and takes along what was printed: its model is told. */
async function withoutThrowing(
  run: Promise<BashExecResult>,
): Promise<Pick<BashExecResult, 'stdout' | 'stderr' | 'exitCode'>> {
  try {
    return await run;
  } catch (error) {
    const stderr = `bash: ${describeFailure(error)}\nbash: the script ended there, and what it had printed is lost\n`;
    return { stdout: '', stderr, exitCode: 1 };
  }
}

/** Timers and cancellations are heard only while nothing computes: now and then a run has to let go. */
function createPasser(brake: Brake, signal: AbortSignal): () => Promise<void> {
  let operations = 0;
  return async () => {
    if (++operations % OPERATIONS_PER_PAUSE === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
    if (brake.stop?.kind === 'time' && brake.running > 0) throw new Error('the time is up');
  };
}

async function sleepUnless(ms: number, signal: AbortSignal): Promise<void> {
  // Whoever slept finds out itself why it woke.
  await pause(ms, signal, waitWithTimer).catch(() => undefined);
}
