/**
 * Releases of skills: what is written to publish one, which of them are known, and the pointer that says which is read.
 *
 * Contents are written before the manifest, the manifest before the pointer, and the pointer by itself, so that whoever
 * reads the pointer finds everything that it leads to. All that changes what sessions read is one write of the pointer.
 */
import { z } from 'zod';
import {
  type BundlePointer,
  bundlePointer,
  contentKey,
  manifest,
  manifestKey,
  POINTER_KEY,
  pointTo,
} from '../../durable/skills/manifest.ts';
import type { SkillEntry } from '../../durable/skills/types.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import type { Bundle, KvEntry } from './bundle.ts';
import type { SkillStore } from './store.ts';

/** That a release was published, under `release/<time>-<digest>`: a key for each, so that no writer loses another's. */
export const RELEASE_PREFIX = 'release/';
const RELEASE_KEY = /^release\/(\d{15})-([0-9a-f]{64})$/;

const releaseRecord = z.object({ skills: z.number(), tokens: z.number() });

export interface KnownRelease {
  manifest: string;
  /** Milliseconds since the epoch: when it was last published. */
  publishedAt: number;
}

export interface ListedRelease extends KnownRelease {
  skills: number | null;
  tokens: number | null;
  /** Some of `current`, `canary 10 %`, `previous`. */
  marks: string[];
}

/**
 * Publishes a bundle to all sessions, or to a share of them in percent. A canary needs a current release. Returns the
 * pointer as written.
 */
export async function publishRelease(
  store: SkillStore,
  { entries, pointer: { manifest: digest, published_at: at }, skills }: Omit<Bundle, 'diagnostics' | 'tests'>,
  { canary }: { canary?: number } = {},
): Promise<BundlePointer> {
  const before = await readPointer(store);
  const pointer = makePointer(digest, { before, at, canary });
  await store.put(entries);
  // The release that is current already has its record.
  if (before?.manifest !== digest) await store.put([encodeJson(recordKey(digest, at), countRelease(skills))]);
  await writePointer(store, pointer);
  return pointer;
}

function recordKey(digest: string, at: number): string {
  return `${RELEASE_PREFIX}${String(at).padStart(15, '0')}-${digest}`;
}

function countRelease(skills: readonly SkillEntry[]): z.infer<typeof releaseRecord> {
  return { skills: skills.length, tokens: skills.reduce((sum, { tokens }) => sum + tokens, 0) };
}

function makePointer(
  digest: string,
  { before, at, canary }: { before: BundlePointer | null; at: number; canary: number | undefined },
): BundlePointer {
  if (canary === undefined) return pointTo(digest, { before, at });
  if (before === null)
    throw new Error('A canary needs a current release: publish one without --canary first.');
  if (before.manifest === digest) throw new Error('These skills are the current release already.');
  return bundlePointer.parse({ ...before, canary: { manifest: digest, percent: canary, published_at: at } });
}

/** Null where nothing is published. Throws where what is there is no pointer. */
export async function readPointer(store: SkillStore): Promise<BundlePointer | null> {
  const text = (await store.readTexts([POINTER_KEY])).get(POINTER_KEY);
  return text === undefined ? null : bundlePointer.parse(JSON.parse(text));
}

async function writePointer(store: SkillStore, pointer: BundlePointer): Promise<void> {
  await store.put([encodeJson(POINTER_KEY, pointer)]);
}

export function encodeJson(key: string, value: unknown): KvEntry {
  return { key, bytes: new TextEncoder().encode(JSON.stringify(value)) };
}

/** By manifest, each once, newest first, from the names of their records. */
export function readHistory(keys: readonly string[]): (KnownRelease & { key: string })[] {
  const newest = new Map<string, KnownRelease & { key: string }>();
  for (const key of [...keys].sort().reverse()) {
    const [, at, digest] = RELEASE_KEY.exec(key) ?? [];
    if (at === undefined || digest === undefined || newest.has(digest)) continue;
    newest.set(digest, { key, manifest: digest, publishedAt: Number(at) });
  }
  return [...newest.values()];
}

/** Every release that has a record or that the pointer names, newest first. */
export async function listReleases(store: SkillStore): Promise<ListedRelease[]> {
  const pointer = await readPointer(store);
  const history = readHistory(await store.listKeys(RELEASE_PREFIX));
  const records = await store.readTexts(history.map(({ key }) => key));
  const listed = history.map(({ key, ...release }): ListedRelease => {
    const record = releaseRecord.safeParse(JSON.parse(records.get(key) ?? 'null'));
    const { skills, tokens } = record.success ? record.data : { skills: null, tokens: null };
    return { ...release, skills, tokens, marks: markRelease(pointer, release.manifest) };
  });
  const isListed = (digest: string): boolean => listed.some((release) => release.manifest === digest);
  for (const { manifest: digest, published_at } of pointer === null
    ? []
    : [pointer, pointer.canary ?? pointer]) {
    if (isListed(digest)) continue;
    const marks = markRelease(pointer, digest);
    listed.unshift({ manifest: digest, publishedAt: published_at, skills: null, tokens: null, marks });
  }
  return listed;
}

function markRelease(pointer: BundlePointer | null, digest: string): string[] {
  if (pointer === null) return [];
  return [
    pointer.manifest === digest ? 'current' : '',
    pointer.canary?.manifest === digest ? `canary ${pointer.canary.percent} %` : '',
    pointer.previous === digest ? 'previous' : '',
  ].filter((mark) => mark !== '');
}

/**
 * The manifest that `name` means: `current`, `previous`, `canary`, a digest or the beginning of one release's digest.
 * Throws where it means none, or several.
 */
export async function resolveRelease(store: SkillStore, name: string): Promise<string> {
  const pointer = await readPointer(store);
  const named = {
    current: pointer?.manifest,
    previous: pointer?.previous,
    canary: pointer?.canary?.manifest,
  };
  if (name === 'current' || name === 'previous' || name === 'canary') {
    const digest = named[name];
    if (typeof digest !== 'string') throw new Error(`There is no ${name} release.`);
    return digest;
  }
  if (!/^[0-9a-f]{6,64}$/.test(name)) {
    throw new Error(`${JSON.stringify(name)} is no release: give at least 6 characters of its manifest.`);
  }
  const history = readHistory(await store.listKeys(RELEASE_PREFIX)).map(({ manifest: digest }) => digest);
  const known = new Set([...history, ...Object.values(named)]);
  const [digest, ...more] = [...known].filter((known) => known?.startsWith(name));
  if (typeof digest !== 'string') {
    throw new Error(`There is no release ${name}; npm run skills:list has those that are.`);
  }
  if (more.length > 0) throw new Error(`${name} begins ${more.length + 1} releases: give more of it.`);
  return digest;
}

/** A release's skills. Throws where its manifest is not there or not what its digest says. */
export async function readRelease(store: SkillStore, digest: string): Promise<SkillEntry[]> {
  const text = (await store.readTexts([manifestKey(digest)])).get(manifestKey(digest));
  if (text === undefined) throw new Error(`The manifest ${digest} is not there.`);
  if (sha256Hex(text) !== digest) throw new Error(`The manifest ${digest} is not what its digest says.`);
  return manifest.parse(JSON.parse(text)).skills;
}

/** Everything that a release's sessions may read. */
export function listContents(skills: readonly SkillEntry[]): string[] {
  return skills
    .flatMap(({ body, resources }) => [body, ...resources.map(({ digest }) => digest)])
    .map(contentKey);
}

/**
 * Points back to an older release, whole or not at all, and ends a canary: after a rollback everybody reads the same.
 */
export async function rollBack(store: SkillStore, name: string, at: number): Promise<BundlePointer> {
  const before = await readPointer(store);
  const digest = await resolveRelease(store, name);
  if (before?.manifest === digest && before.canary === undefined) {
    throw new Error(`${digest.slice(0, 12)} is the current release already.`);
  }
  const present = new Set(await store.listKeys(contentKey('')));
  const missing = listContents(await readRelease(store, digest)).filter((key) => !present.has(key));
  if (missing.length > 0) {
    throw new Error(`${digest.slice(0, 12)} is not whole any more: ${missing.length} of its files are gone.`);
  }
  const pointer = pointTo(digest, { before, at });
  await writePointer(store, pointer);
  return pointer;
}

/** Makes the canary the current release. Throws where there is none. */
export async function promoteCanary(store: SkillStore, at: number): Promise<BundlePointer> {
  const before = await readPointer(store);
  if (before?.canary === undefined) throw new Error('There is no canary.');
  const pointer = pointTo(before.canary.manifest, { before, at });
  await writePointer(store, pointer);
  return pointer;
}

/** Changes the canary's share, or ends it with 0. Throws where there is none. */
export async function setCanary(store: SkillStore, percent: number): Promise<BundlePointer> {
  const before = await readPointer(store);
  if (before?.canary === undefined) throw new Error('There is no canary.');
  const { canary, ...rest } = before;
  const pointer = bundlePointer.parse(percent === 0 ? rest : { ...rest, canary: { ...canary, percent } });
  await writePointer(store, pointer);
  return pointer;
}
