/** The fault points that the code names, read from its text. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NAME = "'[a-z]+\\.[a-z]+'";
/** `hit('a.b')`, `pass('a.b')`, `pass(ports, 'a.b')`, and the two of a commit: `['a.b', 'a.c']`. */
const CALL = new RegExp(`(?:hit|pass)\\((?:[a-z]+, )?${NAME}|\\[${NAME}, ${NAME}\\]`, 'g');

/** Sorted, each once. */
export function listPoints(folder: string): string[] {
  const found = new Set<string>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    for (const [call] of readFileSync(join(folder, name), 'utf8').matchAll(CALL)) {
      for (const [quoted] of call.matchAll(new RegExp(NAME, 'g'))) found.add(quoted.slice(1, -1));
    }
  }
  return [...found].sort();
}
