/** A note of the service that runs on this checkout's state: two of them on one database would do every work twice. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { readIfThere } from './dev-vars.ts';

const running = z.object({ url: z.url(), pid: z.int() });
export type Running = z.infer<typeof running>;

const ANSWER_MS = 2_000;

/** The service that the note names, where it answers; null where it is gone, or was never there. */
export async function findRunning(file: string): Promise<Running | null> {
  const text = await readIfThere(file);
  if (text === null) return null;
  const parsed = running.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const signal = AbortSignal.timeout(ANSWER_MS);
  const response = await fetch(`${parsed.data.url}/healthz`, { signal }).catch(() => null);
  return response?.ok ? parsed.data : null;
}

export async function noteRunning(file: string, service: Running): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(service)}\n`);
}

export async function forgetRunning(file: string): Promise<void> {
  await rm(file, { force: true });
}

/** Undefined for what is no JSON: a note that was cut off says nothing. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
