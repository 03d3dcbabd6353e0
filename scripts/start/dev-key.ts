import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createKey } from '../keys.ts';
import { readIfThere } from './dev-vars.ts';

const TENANT = 'dev';

/**
 * The key of local development: the one in `file` where the service at `url` still takes it, a new one otherwise (the
 * first run, or state that was deleted). The file is for its owner alone.
 */
export async function ensureDevKey(
  file: string,
  { url, persistTo }: { url: string; persistTo: string },
): Promise<string> {
  const known = (await readIfThere(file))?.trim();
  if (known && (await isTaken(known, url))) return known;
  const { key } = await createKey({ tenant: TENANT, name: 'npm start' }, { kind: 'local', persistTo });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return key;
}

async function isTaken(key: string, url: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/sessions?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  await response.body?.cancel();
  return response.status !== 401;
}
