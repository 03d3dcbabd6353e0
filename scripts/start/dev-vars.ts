import { randomBytes } from 'node:crypto';
import { appendFile, chmod, readFile } from 'node:fs/promises';

const NAME = 'OBJECT_NAME_SECRET';

/**
 * Sees to it that the file of development secrets has an OBJECT_NAME_SECRET; what else is in it stays as it is. True
 * where it was made now. The value is never printed: with it the names of all objects can be computed.
 */
export async function ensureDevVars(file: string): Promise<boolean> {
  const text = await readIfThere(file);
  if (text !== null && new RegExp(`^\\s*(?:export\\s+)?${NAME}\\s*=`, 'm').test(text)) return false;
  const start = text === null || text === '' || text.endsWith('\n') ? '' : '\n';
  await appendFile(file, `${start}${NAME}=${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  if (text === null) await chmod(file, 0o600);
  return true;
}

/** Null where there is no such file. */
export async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
