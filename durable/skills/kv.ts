/**
 * Reads the parts of a bundle that are named by their digest: manifests and contents. What is read is checked against
 * its digest and kept; a value that is not what its name says is as good as absent.
 *
 * Values are shared by all sessions of an isolate, promises are not: in workerd a promise belongs to the request that
 * made it. So two sessions that need the same thing at once read it twice.
 */
import { type PerchError, skillContentMissing, skillManifestMissing, toFailure } from '../errors.ts';
import { sha256Hex } from '../storage/digest.ts';
import { assertNever, type Failure } from '../transcript/events.ts';
import { createContentCache } from './content-cache.ts';
import { contentKey, manifest, manifestKey } from './manifest.ts';
import { createRecentMap } from './recent-map.ts';
import type { SkillEntry } from './types.ts';

/** What is needed of a KV namespace; a `KVNamespace` is one. */
export interface SkillKv {
  get(key: string, type: 'text'): Promise<string | null>;
  get(key: string, type: 'arrayBuffer'): Promise<ArrayBuffer | null>;
}

/** The skills of one manifest. */
export interface Release {
  manifest: string;
  /** Sorted by name, each name once. */
  entries: readonly SkillEntry[];
}

/** `missing`: KV does not have it, or has something else. `unread`: KV threw, which says nothing about the bundle. */
export type ReleaseReading =
  | { kind: 'release'; release: Release }
  | { kind: 'missing'; fault: Failure }
  | { kind: 'unread'; fault: Failure };

export interface BundleKv {
  readPointer: (key: string) => Promise<StoredText>;
  readRelease: (digest: string) => Promise<ReleaseReading>;
  /** Throws `skill_content_missing`; `what` is for its message. The bytes are the cache's: not to be written to. */
  readContent: (digest: string, what: string) => Promise<Uint8Array>;
}

export type StoredText = { kind: 'text'; text: string } | { kind: 'absent' } | { kind: 'unread' };

/** Those of the deployment and of the tenants that are at work in this isolate. */
const RELEASES_KEPT = 256;

export function createBundleKv(kv: SkillKv, cacheBytes: number): BundleKv {
  const contents = createContentCache(cacheBytes);
  const releases = createRecentMap<string, Release>(RELEASES_KEPT);
  return {
    readPointer: (key) => readText(kv, key),
    async readRelease(digest) {
      const known = releases.get(digest);
      if (known !== undefined) return { kind: 'release', release: known };
      const reading = await readRelease(kv, digest);
      if (reading.kind === 'release') releases.set(digest, reading.release);
      return reading;
    },
    async readContent(digest, what) {
      const known = contents.get(digest);
      if (known !== undefined) return known;
      // That KV threw and that it has nothing come to the same here: the content is not to be had.
      const stored = await kv.get(contentKey(digest), 'arrayBuffer').catch(() => null);
      const bytes = stored === null ? null : new Uint8Array(stored);
      if (bytes === null || sha256Hex(bytes) !== digest) {
        throw skillContentMissing(`The content of ${what} cannot be read from the skill bundle.`, { digest });
      }
      contents.put(digest, bytes);
      return bytes;
    },
  };
}

async function readRelease(kv: SkillKv, digest: string): Promise<ReleaseReading> {
  const facts = { manifest: digest };
  const stored = await readText(kv, manifestKey(digest));
  switch (stored.kind) {
    case 'unread':
      return {
        kind: 'unread',
        fault: failureOf(
          skillManifestMissing('The manifest of the skill bundle could not be reached.', facts),
        ),
      };
    case 'absent':
      return {
        kind: 'missing',
        fault: failureOf(skillManifestMissing('The skill bundle names a manifest that is not there.', facts)),
      };
    case 'text': {
      const isWhole = sha256Hex(stored.text) === digest;
      const read = manifest.safeParse(isWhole ? parseJson(stored.text) : undefined);
      if (read.success) return { kind: 'release', release: { manifest: digest, entries: read.data.skills } };
      return {
        kind: 'missing',
        fault: failureOf(skillManifestMissing('The manifest of the skill bundle cannot be read.', facts)),
      };
    }
    default:
      return assertNever(stored);
  }
}

async function readText(kv: SkillKv, key: string): Promise<StoredText> {
  try {
    const text = await kv.get(key, 'text');
    return text === null ? { kind: 'absent' } : { kind: 'text', text };
  } catch {
    // What KV threw is of no use to a session; that it threw is.
    return { kind: 'unread' };
  }
}

export function failureOf({ data }: PerchError): Failure {
  return toFailure(data);
}

/** Undefined for text that is no JSON, which no schema here accepts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The schema's refusal covers it.
    return undefined;
  }
}
