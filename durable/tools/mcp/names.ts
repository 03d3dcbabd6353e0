/** Names of tools as models see them: `mcp__<server>__<tool>`, in the grammar that all providers take. Pure. */
import { sha256Hex } from '../../storage/digest.ts';

export const MCP_PREFIX = 'mcp__';
const MAX_NAME = 64;
const SUFFIX_CHARS = 8;

/**
 * One name for each of the distinct originals, never two alike, in the same order. An original that fits keeps its
 * name whatever stands beside it; one that does not is cleaned, and where that clashes or is too long it ends in a
 * part of its digest, so that the same list gives the same names again.
 */
export function nameTools(server: string, originals: readonly string[]): string[] {
  const plain = originals.map((original) => toPlain(server, original));
  const uses = new Map<string, number>();
  for (const name of plain) uses.set(name, (uses.get(name) ?? 0) + 1);
  const isExact = (i: number): boolean =>
    plain[i] === `${MCP_PREFIX}${server}__${originals[i]}` && plain[i].length <= MAX_NAME;
  const taken = new Set(
    plain.filter((name, i) => isExact(i) || (uses.get(name) === 1 && name.length <= MAX_NAME)),
  );
  return plain.map((name, i) => {
    if (isExact(i) || (uses.get(name) === 1 && name.length <= MAX_NAME)) return name;
    const found = findFree(name, originals[i] ?? '', taken);
    taken.add(found);
    return found;
  });
}

function toPlain(server: string, original: string): string {
  return `${MCP_PREFIX}${server}__${original.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`;
}

function findFree(name: string, original: string, taken: ReadonlySet<string>): string {
  const head = name.slice(0, MAX_NAME - SUFFIX_CHARS - 1);
  for (let n = 0; ; n++) {
    const digest = sha256Hex(n === 0 ? original : `${original}\0${n}`).slice(0, SUFFIX_CHARS);
    const candidate = `${head}_${digest}`;
    if (!taken.has(candidate)) return candidate;
  }
}
