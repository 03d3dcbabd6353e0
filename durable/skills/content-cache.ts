/** Bytes by digest, kept for ever or until newer ones need the room: the least recently used go first. */
export interface ContentCache {
  get: (digest: string) => Uint8Array | undefined;
  put: (digest: string, bytes: Uint8Array) => void;
}

export function createContentCache(capBytes: number): ContentCache {
  // A Map keeps insertion order: what is read is moved to its end, what is dropped is taken from its start.
  const kept = new Map<string, Uint8Array>();
  let total = 0;
  return {
    get(digest) {
      const bytes = kept.get(digest);
      if (bytes === undefined) return undefined;
      kept.delete(digest);
      kept.set(digest, bytes);
      return bytes;
    },
    put(digest, bytes) {
      if (bytes.byteLength > capBytes || kept.has(digest)) return;
      kept.set(digest, bytes);
      total += bytes.byteLength;
      for (const [oldest, old] of kept) {
        if (total <= capBytes) break;
        kept.delete(oldest);
        total -= old.byteLength;
      }
    },
  };
}
