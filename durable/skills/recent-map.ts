/** A map of at most `limit` entries: the least recently used go first. */
export interface RecentMap<K, V> {
  get: (key: K) => V | undefined;
  set: (key: K, value: V) => void;
}

export function createRecentMap<K, V>(limit: number): RecentMap<K, V> {
  // A Map keeps insertion order: what is read is moved to its end, what is dropped is taken from its start.
  const kept = new Map<K, V>();
  return {
    get(key) {
      const value = kept.get(key);
      if (value === undefined) return undefined;
      kept.delete(key);
      kept.set(key, value);
      return value;
    },
    set(key, value) {
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (kept.size <= limit) break;
        kept.delete(oldest);
      }
    },
  };
}
