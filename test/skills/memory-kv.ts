/** A KV namespace in memory that tells its reads and can be made to fail or to wait. */

import type { SkillKv } from '../../durable/skills/kv.ts';
import {
  buildManifest,
  bundlePointer,
  contentKey,
  manifestKey,
  POINTER_KEY,
} from '../../durable/skills/manifest.ts';
import type { SkillEntry } from '../../durable/skills/types.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';

export class MemoryKv implements SkillKv {
  reads: string[] = [];
  /** Keys whose reading throws. */
  failing = (_key: string): boolean => false;
  /** Awaited by a reading that has its value already. */
  held: Promise<void> = Promise.resolve();
  readonly #values = new Map<string, Uint8Array>();

  put(key: string, value: string | Uint8Array): void {
    this.#values.set(key, typeof value === 'string' ? new TextEncoder().encode(value) : value);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  /** Publishes a release and gives its manifest's digest. */
  publish(entries: SkillEntry[], bodies: string[] = [], pointerKey = POINTER_KEY): string {
    for (const body of bodies) this.put(contentKey(sha256Hex(body)), body);
    const { digest, text } = buildManifest(entries);
    this.put(manifestKey(digest), text);
    this.put(pointerKey, JSON.stringify(bundlePointer.parse({ manifest: digest, published_at: 1 })));
    return digest;
  }

  get(key: string, type: 'text'): Promise<string | null>;
  get(key: string, type: 'arrayBuffer'): Promise<ArrayBuffer | null>;
  async get(key: string, type: 'text' | 'arrayBuffer'): Promise<string | ArrayBuffer | null> {
    this.reads.push(key);
    const value = this.#values.get(key);
    await this.held;
    if (this.failing(key)) throw new Error('KV is out of reach');
    if (value === undefined) return null;
    return type === 'text' ? new TextDecoder().decode(value) : Uint8Array.from(value).buffer;
  }
}
