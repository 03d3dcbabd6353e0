/**
 * Views of the bundle in KV (layout: `manifest.ts`). Only the pointer is ever read twice, and only when what is known
 * of it is older than `freshMs`; manifests and contents are named by their digest, checked against it, and kept.
 *
 * Values are shared by all sessions of an isolate, promises are not: in workerd a promise belongs to the request that
 * made it. So two sessions that find the pointer stale at once read it twice.
 */
import {
  type PerchError,
  skillBundleMissing,
  skillContentMissing,
  skillManifestMissing,
  toFailure,
} from '../errors.ts';
import { sha256Hex } from '../storage/digest.ts';
import { assertNever, type Failure } from '../transcript/events.ts';
import { type ContentCache, createContentCache } from './content-cache.ts';
import { bundlePointer, contentKey, manifest, manifestKey, POINTER_KEY } from './manifest.ts';
import type { SkillEntry, SkillSource, SkillView } from './types.ts';

/** What is needed of a KV namespace; a `KVNamespace` is one. */
export interface SkillKv {
  get(key: string, type: 'text'): Promise<string | null>;
  get(key: string, type: 'arrayBuffer'): Promise<ArrayBuffer | null>;
}

export interface SkillSourceOptions {
  kv: SkillKv;
  /** Milliseconds for which the pointer is believed; 0 reads it each time. */
  freshMs: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Bytes of bodies and resources kept in memory. */
  cacheBytes?: number;
}

/** An eighth of an isolate's 128 MB, which sessions and their requests also live in. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** The current release, the one before it for a rollback, and those of a roll-out in progress. */
const VIEWS_KEPT = 4;

const sources = new WeakMap<SkillKv, SkillSource>();

/** One source for each KV binding, so that all sessions of an isolate share what it has read. */
export function skillSourceFor(options: SkillSourceOptions): SkillSource {
  const known = sources.get(options.kv);
  if (known !== undefined) return known;
  const source = createSkillSource(options);
  sources.set(options.kv, source);
  return source;
}

/** What is kept of a namespace. */
interface Bundle {
  kv: SkillKv;
  contents: ContentCache;
  /** By manifest digest, oldest first. */
  views: Map<string, SkillView>;
}

/** What one reading of the bundle came to. `unread`: KV threw, which says nothing about the bundle. */
type Reading =
  | { kind: 'view'; view: SkillView }
  | { kind: 'missing'; fault: Failure }
  | { kind: 'unread'; fault: Failure };

export function createSkillSource({ kv, freshMs, now, cacheBytes }: SkillSourceOptions): SkillSource {
  const bundle: Bundle = { kv, contents: createContentCache(cacheBytes ?? CACHE_BYTES), views: new Map() };
  let current: { view: SkillView; readAt: number; order: number } | null = null;
  let readings = 0;

  async function refresh(): Promise<SkillView> {
    const readAt = now();
    const order = ++readings;
    const reading = await readBundle(bundle);
    // An older good view is better than none while KV is out of reach, and is believed until the next reading.
    const good = current !== null && current.view.fault === undefined ? current.view : null;
    const isUnread = reading.kind === 'unread';
    if (isUnread && good === null) return emptyView(reading.fault);
    const view =
      reading.kind === 'view' ? reading.view : ((isUnread ? good : null) ?? emptyView(reading.fault));
    // A slow reading does not undo a later one.
    if (current === null || current.order < order) current = { view, readAt, order };
    return view;
  }

  return {
    view() {
      const age = current === null ? Number.POSITIVE_INFINITY : now() - current.readAt;
      return current !== null && age >= 0 && age < freshMs ? Promise.resolve(current.view) : refresh();
    },
  };
}

async function readBundle(bundle: Bundle): Promise<Reading> {
  const pointer = await readText(bundle.kv, POINTER_KEY);
  switch (pointer.kind) {
    case 'unread':
      return unread(skillBundleMissing('The skill bundle could not be reached.'));
    case 'absent':
      return missing(skillBundleMissing('No skill bundle is published.'));
    case 'text': {
      const read = bundlePointer.safeParse(parseJson(pointer.text));
      if (!read.success)
        return missing(skillBundleMissing('The pointer of the skill bundle cannot be read.'));
      const digest = read.data.manifest;
      const known = bundle.views.get(digest);
      return known === undefined ? readManifest(bundle, digest) : { kind: 'view', view: known };
    }
    default:
      return assertNever(pointer);
  }
}

async function readManifest(bundle: Bundle, digest: string): Promise<Reading> {
  const facts = { manifest: digest };
  const stored = await readText(bundle.kv, manifestKey(digest));
  switch (stored.kind) {
    case 'unread':
      return unread(skillManifestMissing('The manifest of the skill bundle could not be reached.', facts));
    case 'absent':
      return missing(skillManifestMissing('The skill bundle names a manifest that is not there.', facts));
    case 'text': {
      const isWhole = sha256Hex(stored.text) === digest;
      const read = manifest.safeParse(isWhole ? parseJson(stored.text) : undefined);
      if (!read.success) {
        return missing(skillManifestMissing('The manifest of the skill bundle cannot be read.', facts));
      }
      const view = buildView(bundle, digest, read.data.skills);
      keepView(bundle.views, digest, view);
      return { kind: 'view', view };
    }
    default:
      return assertNever(stored);
  }
}

function buildView(bundle: Bundle, digest: string, entries: readonly SkillEntry[]): SkillView {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  // A BOM is part of the body: what was bundled is what is rendered.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: false });
  return {
    manifest: digest,
    tenantManifest: null,
    entries,
    find: (name) => byName.get(name),
    body: async (entry) => decoder.decode(await readContent(bundle, entry.body, `skill "${entry.name}"`)),
    // A copy: the cached bytes belong to every session.
    resource: async ({ path, digest }) => (await readContent(bundle, digest, `the file "${path}"`)).slice(),
  };
}

async function readContent({ kv, contents }: Bundle, digest: string, what: string): Promise<Uint8Array> {
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
}

function keepView(views: Map<string, SkillView>, digest: string, view: SkillView): void {
  views.set(digest, view);
  for (const oldest of views.keys()) {
    if (views.size <= VIEWS_KEPT) break;
    views.delete(oldest);
  }
}

type StoredText = { kind: 'text'; text: string } | { kind: 'absent' } | { kind: 'unread' };

async function readText(kv: SkillKv, key: string): Promise<StoredText> {
  try {
    const text = await kv.get(key, 'text');
    return text === null ? { kind: 'absent' } : { kind: 'text', text };
  } catch {
    // What KV threw is of no use to a session; that it threw is.
    return { kind: 'unread' };
  }
}

function missing({ data }: PerchError): Reading {
  return { kind: 'missing', fault: toFailure(data) };
}

function unread({ data }: PerchError): Reading {
  return { kind: 'unread', fault: toFailure(data) };
}

function emptyView(fault: Failure): SkillView {
  const absent = (): Promise<never> =>
    Promise.reject(skillContentMissing('There is no skill bundle to read this from.'));
  return {
    manifest: null,
    tenantManifest: null,
    fault,
    entries: [],
    find: () => undefined,
    body: absent,
    resource: absent,
  };
}

/** Undefined for text that is no JSON, which no schema here accepts. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The schema's refusal covers it.
    return undefined;
  }
}
