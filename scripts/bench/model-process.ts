/** The model server's process, as the benchmark drives it. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { nowMs } from './clock.ts';
import { type RequestRecord, requestRecord } from './model-record.ts';

export interface ModelProcess {
  /** What providers are given. */
  baseUrl: string;
  /** The requests for a model since they were last asked for, in order. */
  records: (model: string) => Promise<RequestRecord[]>;
  /** When each request for a model began, answered or not; `nowMs()`. */
  begun: (model: string) => Promise<number[]>;
  body: (model: string) => Promise<unknown>;
  stop: () => void;
}

/** The largest difference that the two clocks may show beyond the call's own time. */
const CLOCK_SLACK_MS = 0.5;

export async function startModelServer(): Promise<ModelProcess> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve('./model-server.ts'))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const port = await new Promise<string>((found, fail) => {
    child.stdout.once('data', (data: unknown) => found(String(data).trim()));
    child.once('exit', (code) => fail(new Error(`the model server ended with ${code}`)));
  });
  const origin = `http://127.0.0.1:${port}`;
  const get = async (path: string): Promise<unknown> => (await fetch(origin + path)).json();
  await checkClock(() => get('/clock'));
  return {
    baseUrl: `${origin}/v1`,
    records: async (model) => z.array(requestRecord).parse(await get(`/records?model=${model}`)),
    begun: async (model) => z.array(z.number()).parse(await get(`/begun?model=${model}`)),
    body: (model) => get(`/body?model=${model}`),
    stop: () => child.kill(),
  };
}

/** Throws where the other process's clock has another origin: its times could not be set against ours. */
async function checkClock(ask: () => Promise<unknown>): Promise<void> {
  await ask();
  const before = nowMs();
  const theirs = z.number().parse(await ask());
  const after = nowMs();
  if (theirs < before - CLOCK_SLACK_MS || theirs > after + CLOCK_SLACK_MS) {
    throw new Error('the monotonic clocks of two processes differ: the benchmark cannot run here');
  }
}
