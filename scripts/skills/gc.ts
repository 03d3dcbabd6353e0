/**
 * Garbage collection: removes what no kept release names. Kept are what the pointer names (current, canary, previous),
 * what every tenant's pointer names, and the last releases of the history.
 *
 * KV does not tell how old a value is, and a value that nobody names may be half of a push in progress, or the text of a
 * release that an isolate still believes current. So nothing is removed when it is first seen without a name: it is
 * noted, and removed by a later run that has seen it so for the whole grace time. A session names a release only for the
 * length of a step, and what it was told is in its own log, so a grace of days is ample.
 */
import { z } from 'zod';
import { bundlePointer, contentKey, manifestKey, POINTER_KEY } from '../../durable/skills/manifest.ts';
import { encodeJson, listContents, RELEASE_PREFIX, readHistory, readRelease } from './releases.ts';
import type { SkillStore } from './store.ts';

export const KEEP_RELEASES = 10;
export const GRACE_MS = 7 * 24 * 60 * 60 * 1000;

/** JSON `{<key>: <since when it is seen without a name, milliseconds since the epoch>}`. */
const UNREFERENCED_KEY = 'gc/unreferenced';
const TENANT_PREFIX = 'tenant/';
const seenSince = z.record(z.string(), z.number());

export interface GcOptions {
  /** Releases of the history to keep. */
  keep?: number;
  graceMs?: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** Removes and notes nothing. */
  dryRun?: boolean;
}

export interface GcReport {
  kept: number;
  /** Without a name, and not yet for the grace time. */
  waiting: string[];
  removed: string[];
  /** Removed while a push gave it a name again: that release must be pushed once more. */
  lost: string[];
}

export async function collectGarbage(
  store: SkillStore,
  { keep = KEEP_RELEASES, graceMs = GRACE_MS, now, dryRun = false }: GcOptions,
): Promise<GcReport> {
  const keys = await store.listKeys('');
  const named = await findNamed(store, keys, keep);
  const prefixes = [contentKey(''), manifestKey(''), RELEASE_PREFIX];
  const unnamed = keys.filter((key) => !named.has(key) && prefixes.some((prefix) => key.startsWith(prefix)));
  const before = await readSeen(store);
  const seen = new Map(unnamed.map((key) => [key, before[key] ?? now]));
  const isDue = (key: string): boolean => (seen.get(key) ?? now) <= now - graceMs;
  const removed = unnamed.filter(isDue);
  const waiting = unnamed.filter((key) => !isDue(key));
  const report: GcReport = { kept: keys.length - unnamed.length, waiting, removed, lost: [] };
  if (dryRun) return report;
  await store.remove(removed);
  await store.put([
    encodeJson(UNREFERENCED_KEY, Object.fromEntries(waiting.map((key) => [key, seen.get(key)]))),
  ]);
  if (removed.length > 0) {
    const after = await findNamed(store, await store.listKeys(''), keep);
    report.lost = removed.filter((key) => after.has(key));
  }
  return report;
}

async function readSeen(store: SkillStore): Promise<Record<string, number>> {
  const text = (await store.readTexts([UNREFERENCED_KEY])).get(UNREFERENCED_KEY);
  return text === undefined ? {} : seenSince.parse(JSON.parse(text));
}

/**
 * All keys that a kept release names, its own included. Throws where what a pointer names as current cannot be read:
 * nothing is to be removed on half the truth.
 */
async function findNamed(store: SkillStore, keys: readonly string[], keep: number): Promise<Set<string>> {
  const pointerKeys = keys.filter((key) => key === POINTER_KEY || key.startsWith(TENANT_PREFIX));
  const pointers = await store.readTexts(pointerKeys);
  const needed = new Set<string>();
  const wanted = new Set<string>();
  for (const [key, text] of pointers) {
    const read = bundlePointer.safeParse(JSON.parse(text));
    if (!read.success) throw new Error(`${key} is no pointer: nothing was removed.`);
    const { manifest, previous, canary } = read.data;
    needed.add(manifest);
    if (canary !== undefined) needed.add(canary.manifest);
    if (typeof previous === 'string') wanted.add(previous);
  }
  const history = readHistory(keys);
  for (const { manifest } of history.slice(0, keep)) wanted.add(manifest);
  const present = new Set(keys);
  const named = new Set<string>();
  for (const digest of new Set([...needed, ...wanted])) {
    // One that is gone already names nothing that could still be read.
    if (!needed.has(digest) && !present.has(manifestKey(digest))) continue;
    named.add(manifestKey(digest));
    for (const { key, manifest } of history) if (manifest === digest) named.add(key);
    for (const key of listContents(await readRelease(store, digest))) named.add(key);
  }
  return named;
}
