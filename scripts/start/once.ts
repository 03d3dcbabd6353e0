/** `npm start -- --once "prompt"`: a fresh instance, one session, one prompt; stdout holds the answer and nothing else. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKey } from '../keys.ts';
import { askOnce } from './ask-once.ts';
import { startDevServer } from './dev-server.ts';
import { ensureDevVars } from './dev-vars.ts';
import { findAnyPort } from './free-port.ts';
import { DEV_VARS, SKILLS } from './paths.ts';
import { createSkillPublisher } from './skills.ts';
import { onStop } from './stop-signals.ts';

export interface OnceOptions {
  prompt: string;
  agent: string | null;
  model: string | null;
  port: number | null;
}

/** 0 where the turn completed; otherwise the reason is on stderr. */
export async function runOnce(options: OnceOptions): Promise<number> {
  const stopping = new AbortController();
  let failed = 1;
  const unwatch = onStop((code) => {
    failed = code;
    stopping.abort();
  });
  const state = await mkdtemp(join(tmpdir(), 'perch-once-'));
  try {
    await runIn(state, options, stopping.signal);
    return 0;
  } catch (error) {
    if (!stopping.signal.aborted) console.error(error instanceof Error ? error.message : error);
    return failed;
  } finally {
    await rm(state, { recursive: true, force: true });
    unwatch();
  }
}

/** Throws where the turn does not complete: the message is its reason. */
async function runIn(state: string, options: OnceOptions, signal: AbortSignal): Promise<void> {
  await ensureDevVars(DEV_VARS);
  for (const line of await createSkillPublisher(SKILLS, state).publishFirst()) {
    if (!line.includes(' skills: /')) console.error(line);
  }
  signal.throwIfAborted();
  const { key } = await createKey({ tenant: 'once' }, { kind: 'local', persistTo: state });
  const server = await startDevServer({
    port: options.port ?? (await findAnyPort()),
    persistTo: state,
    envFile: DEV_VARS,
    signal,
  });
  try {
    await askOnce({ url: server.url, key, signal }, options, (text) => process.stdout.write(text));
  } finally {
    await server.stop();
  }
}
