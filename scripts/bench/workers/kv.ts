/** A KV namespace that holds what it was started with, in the protocol of the runtime's KV bindings. */
import { READS_KEY } from './kv-reads.ts';

interface KvEnv {
  /** JSON: values as base64 by key. */
  ENTRIES: string;
}

let entries: Map<string, Uint8Array> | null = null;
let reads = 0;

export default {
  fetch(request: Request, env: KvEnv): Response {
    entries ??= new Map(
      Object.entries(JSON.parse(env.ENTRIES) as Record<string, string>).map(([key, value]) => [
        key,
        Uint8Array.from(atob(value), (char) => char.charCodeAt(0)),
      ]),
    );
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (key === READS_KEY) return new Response(String(reads));
    reads++;
    const value = entries.get(key);
    return value ? new Response(value) : new Response(null, { status: 404 });
  },
};
