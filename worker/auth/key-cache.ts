import type { KeyRecord } from './key-format.ts';

/** Some 300 bytes a record: at most a few hundred KB of the isolate. */
const MAX_RECORDS = 1_000;

/** Records of known keys, by hash, for some seconds. Unknown keys are not kept, so nobody can fill it with guesses. */
export interface KeyCache {
  get: (hash: string) => KeyRecord | undefined;
  set: (hash: string, record: KeyRecord) => void;
}

/** `ttlMs` 0 keeps nothing. `now` is milliseconds since the epoch. The oldest record goes where it is full. */
export function createKeyCache(ttlMs: number, now: () => number): KeyCache {
  const records = new Map<string, { record: KeyRecord; until: number }>();
  return {
    get(hash) {
      const entry = records.get(hash);
      if (entry === undefined) return undefined;
      if (entry.until > now()) return entry.record;
      records.delete(hash);
      return undefined;
    },
    set(hash, record) {
      if (ttlMs <= 0) return;
      records.delete(hash);
      const oldest = records.keys().next();
      if (records.size >= MAX_RECORDS && !oldest.done) records.delete(oldest.value);
      records.set(hash, { record, until: now() + ttlMs });
    },
  };
}
