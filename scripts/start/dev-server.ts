/** `wrangler dev` as a child: started, waited for until the service answers, stopped with all that it started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { HOST } from './free-port.ts';

/** Generous: a first start on a slow machine compiles everything. */
const READY_MS = 90_000;
const POLL_MS = 100;
/** What wrangler gets to put its processes away before they are killed. */
const STOP_MS = 5_000;
/** Lines kept to explain a start that failed. */
const KEPT_LINES = 40;

export interface DevServerOptions {
  port: number;
  /** As wrangler's `--persist-to`. */
  persistTo: string;
  /** The file with the secrets. */
  envFile: string;
  vars?: Record<string, string>;
  /** Gives the start up. */
  signal: AbortSignal;
}

export interface DevServer {
  url: string;
  /** Of wrangler's process. */
  pid: number;
  /** Resolves when wrangler has ended, by itself or stopped; the exit code, null after a signal. */
  ended: Promise<number | null>;
  /** Hands over what wrangler and the worker write from now on, line by line. */
  follow: (onLine: (line: string) => void) => void;
  stop: () => Promise<void>;
}

/** Throws, with what wrangler said, where the service does not come up. */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const child = spawnWrangler(options);
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', () => resolve(null));
  });
  const stop = createStop(child, ended);
  const lines: string[] = [];
  let onLine: (line: string) => void = () => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine(line);
    });
  }
  const url = `http://${HOST}:${options.port}`;
  const outcome = await Promise.race([
    waitForHealth(url, options.signal),
    ended.then(() => 'wrangler dev ended.'),
  ]);
  if (outcome !== 'ready') {
    await stop();
    throw new Error([`The service did not start: ${outcome}`, ...lines].join('\n'));
  }
  const follow: DevServer['follow'] = (follower) => {
    onLine = follower;
  };
  return { url, pid: child.pid ?? 0, ended, follow, stop };
}

function spawnWrangler({ port, persistTo, envFile, vars = {} }: DevServerOptions): ChildProcess {
  const args = ['dev', '--ip', HOST, '--port', String(port), '--inspector-port', '0'];
  args.push('--persist-to', persistTo, '--env-file', envFile, '--show-interactive-dev-session=false');
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
  // The command itself and not its launcher, which hands no signal on. A group of its own keeps a terminal's Ctrl-C
  // from it: it is stopped from here, in order.
  const cli = fileURLToPath(import.meta.resolve('wrangler'));
  return spawn(process.execPath, ['--no-warnings', cli, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
      // Without these it asks the network for a sample of `request.cf`, and keeps a store of traces.
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      X_LOCAL_OBSERVABILITY: 'false',
      NO_COLOR: '1',
    },
  });
}

function createStop(child: ChildProcess, ended: Promise<unknown>): () => Promise<void> {
  const { pid } = child;
  const killGroup = (): void => {
    if (pid !== undefined) signal(-pid, 'SIGKILL');
  };
  // Whatever ends this process, nothing of the group outlives it.
  process.once('exit', killGroup);
  return async () => {
    if (pid !== undefined && child.exitCode === null && child.signalCode === null) signal(pid, 'SIGINT');
    await Promise.race([ended, sleep(STOP_MS, undefined, { ref: false })]);
    killGroup();
    await ended;
    process.off('exit', killGroup);
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: there is nobody left, which is what was wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

const problem = z.object({ code: z.string(), detail: z.string() });

/** `ready`, or what is wrong. */
async function waitForHealth(url: string, signal: AbortSignal): Promise<string> {
  const until = Date.now() + READY_MS;
  while (Date.now() < until) {
    if (signal.aborted) return 'it was told to stop.';
    const response = await fetch(`${url}/healthz`).catch(() => null);
    if (response?.ok) return 'ready';
    const said = problem.safeParse(await response?.json().catch(() => null));
    if (said.success) return `${said.data.code}: ${said.data.detail}`;
    await sleep(POLL_MS);
  }
  return `nothing answered at ${url}/healthz for ${READY_MS / 1_000} s.`;
}
