/** `npm start`: skills published, the worker under wrangler dev, and lines to paste. */

import { stripVTControlCharacters } from 'node:util';
import { ensureDevKey } from './dev-key.ts';
import { startDevServer } from './dev-server.ts';
import { ensureDevVars } from './dev-vars.ts';
import { findFreePort } from './free-port.ts';
import { DEV_KEY, DEV_VARS, RUNNING, SKILLS, STATE } from './paths.ts';
import { findRunning, forgetRunning, noteRunning } from './running.ts';
import { createSkillPublisher, watchSkills } from './skills.ts';
import { onStop } from './stop-signals.ts';
import { formatWelcome } from './welcome.ts';

const FIRST_PORT = 8787;
/** An edited skill is seen by the next prompt, a second later at most. */
const SKILLS_FRESH_MS = 1_000;

/** Until it is told to stop: then 0; 1 where the service does not start or ends by itself. */
export async function serve({ port }: { port: number | null }): Promise<number> {
  const stopping = new AbortController();
  const stopped = new Promise<'stopped'>((resolve) => {
    onStop(() => {
      stopping.abort();
      resolve('stopped');
    });
  });
  try {
    const outcome = await runUntil(stopped, port, stopping.signal);
    if (outcome === 'stopped') return 0;
    console.error('wrangler dev ended by itself.');
  } catch (error) {
    if (stopping.signal.aborted) return 0;
    console.error(error instanceof Error ? error.message : error);
  }
  return 1;
}

async function runUntil(
  stopped: Promise<'stopped'>,
  port: number | null,
  signal: AbortSignal,
): Promise<'stopped' | 'ended'> {
  const other = await findRunning(RUNNING);
  if (other !== null) {
    throw new Error(
      `Perch runs already, at ${other.url} (process ${other.pid}), on the state of this checkout.`,
    );
  }
  const chosen = await choosePort(port);
  if (await ensureDevVars(DEV_VARS)) console.log(`Made ${DEV_VARS}, with a secret of this checkout's own.`);
  const publisher = createSkillPublisher(SKILLS, STATE);
  for (const line of await publisher.publishFirst()) console.log(line);
  const server = await startDevServer({
    port: chosen,
    persistTo: STATE,
    envFile: DEV_VARS,
    vars: { SKILLS_FRESH_MS: String(SKILLS_FRESH_MS) },
    signal,
  });
  try {
    await noteRunning(RUNNING, { url: server.url, pid: server.pid });
    const key = await ensureDevKey(DEV_KEY, { url: server.url, persistTo: STATE });
    const unwatch = watchSkills(SKILLS, publisher, (line) => console.log(line));
    console.log(formatWelcome(server.url, key));
    server.follow(showLine);
    const outcome = await Promise.race([stopped, server.ended.then(() => 'ended' as const)]);
    unwatch();
    return outcome;
  } finally {
    await server.stop();
    await forgetRunning(RUNNING);
  }
}

/** The port asked for, or an error where it is taken; without a wish the first free one. */
async function choosePort(port: number | null): Promise<number> {
  const free = await findFreePort(port ?? FIRST_PORT);
  if (port !== null && free !== port) throw new Error(`The port ${port} is in use; ${free} is free.`);
  return free;
}

/** What the worker logs and what is wrong. Wrangler's report of each request and the runtime's own notes are left out. */
function showLine(line: string): void {
  const text = stripVTControlCharacters(line);
  if (text.trim() === '' || text.startsWith('[wrangler:info]') || text.includes('NOSENTRY')) return;
  console.log(text);
}
