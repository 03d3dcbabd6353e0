import { spawn } from 'node:child_process';
import { delimiter, resolve } from 'node:path';

export interface Outcome {
  ok: boolean;
  /** What is shown of a failure. */
  output: string;
  /** What is shown of a success. */
  note?: string;
}

/** Runs a program of `node_modules/.bin`, or else of the system, in the current folder or in `cwd`. */
export function runCommand(
  name: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Outcome> {
  return new Promise((done) => {
    const child = spawn(name, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...makeEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => pieces.push(piece));
    }
    child.on('error', (error) => done({ ok: false, output: `${name}: ${error.message}` }));
    child.on('close', (code) => done({ ok: code === 0, output: Buffer.concat(pieces).toString() }));
  });
}

/** The same in the terminal's sight, and with its input: a program may ask. Resolves to the exit code. */
export function runVisibly(name: string, args: readonly string[]): Promise<number> {
  return new Promise((done, fail) => {
    const child = spawn(name, args, { env: makeEnvironment(), stdio: 'inherit' });
    child.on('error', fail);
    child.on('close', (code) => done(code ?? 1));
  });
}

function makeEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_HIDE_BANNER: 'true',
  };
}
