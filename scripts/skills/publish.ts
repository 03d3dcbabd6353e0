/**
 * Puts a bundle into KV: contents and manifest first, the pointer last and by itself, so that whoever reads the
 * pointer finds everything that it leads to. What is already there under the same key is the same bytes.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { POINTER_KEY } from '../../durable/skills/index.ts';
import type { Bundle, KvEntry } from './bundle.ts';

const BINDING = 'SKILLS';
const CONFIG = 'wrangler.toml';
/** Where wrangler keeps local state unless it is told otherwise. */
export const DEFAULT_STATE = '.wrangler/state';
/** The subfolder that wrangler puts under its `--persist-to`. */
const STATE_VERSION = 'v3';
/** Well under the 100 MB that a bulk write takes, base64 included. */
const CHUNK_BYTES = 25 * 1024 * 1024;
const CHUNK_ENTRIES = 5000;

/** What is needed of a namespace to write to it. */
interface WritableStore {
  put(key: string, value: ArrayBuffer | string): Promise<void>;
}

/** `persistTo` is as wrangler's `--persist-to`. */
export async function publishLocal(bundle: Bundle, persistTo: string): Promise<void> {
  // Loaded on use: it is large, and checking skills has no need of it.
  const { getPlatformProxy } = await import('wrangler');
  const path = resolve(persistTo, STATE_VERSION);
  await mkdir(path, { recursive: true });
  await withFolder(async (folder) => {
    // A configuration with this namespace alone: with the Durable Objects in it, this process would open their state
    // as well, and the alarms in it would ring here.
    const configPath = join(folder, 'wrangler.json');
    const config = { name: 'perch-skills-push', kv_namespaces: [await readNamespace()] };
    await writeFile(configPath, JSON.stringify(config));
    const proxy = await getPlatformProxy<{ [BINDING]: WritableStore }>({
      configPath,
      envFiles: [],
      persist: { path },
      remoteBindings: false,
    });
    try {
      await writeBundle(bundle, proxy.env[BINDING]);
    } finally {
      await proxy.dispose();
    }
  });
}

const wranglerConfig = z.object({
  kv_namespaces: z.array(
    z.object({ binding: z.string(), id: z.string().optional(), preview_id: z.string().optional() }),
  ),
});

/** The namespace as the service's own configuration has it, so that both open the same one. */
async function readNamespace() {
  const { unstable_readConfig } = await import('wrangler');
  const { kv_namespaces } = wranglerConfig.parse(unstable_readConfig({ config: CONFIG }));
  const namespace = kv_namespaces.find(({ binding }) => binding === BINDING);
  if (namespace === undefined) throw new Error(`${CONFIG} has no KV namespace with the binding ${BINDING}.`);
  return namespace;
}

/** A temporary folder that is gone afterwards. */
async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'perch-skills-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeBundle({ entries, pointer }: Bundle, store: WritableStore): Promise<void> {
  for (const { key, bytes } of entries) await store.put(key, Uint8Array.from(bytes).buffer);
  await store.put(POINTER_KEY, JSON.stringify(pointer));
}

/** Through wrangler's bulk writes, with whatever account wrangler is logged in to. Throws when one fails. */
export async function publishRemote({ entries, pointer }: Bundle): Promise<void> {
  await withFolder(async (folder) => {
    for (const chunk of splitChunks(entries)) await putBulk(folder, chunk);
    await putBulk(folder, [{ key: POINTER_KEY, bytes: new TextEncoder().encode(JSON.stringify(pointer)) }]);
  });
}

async function putBulk(folder: string, entries: readonly KvEntry[]): Promise<void> {
  const file = join(folder, 'entries.json');
  await writeFile(file, JSON.stringify(encodeBulk(entries)));
  const args = ['wrangler', 'kv', 'bulk', 'put', file, '--binding', BINDING, '--config', CONFIG, '--remote'];
  await promisify(execFile)('npx', args);
}

/** Base64, so that bytes survive the JSON. */
export function encodeBulk(entries: readonly KvEntry[]): { key: string; value: string; base64: true }[] {
  return entries.map(({ key, bytes }) => ({
    key,
    value: Buffer.from(bytes).toString('base64'),
    base64: true,
  }));
}

/** In order, so that the manifest still comes last. */
export function splitChunks(entries: readonly KvEntry[]): KvEntry[][] {
  const chunks: KvEntry[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const last = chunks.at(-1);
    if (last === undefined || size + entry.bytes.byteLength > CHUNK_BYTES || last.length >= CHUNK_ENTRIES) {
      chunks.push([entry]);
      size = entry.bytes.byteLength;
    } else {
      last.push(entry);
      size += entry.bytes.byteLength;
    }
  }
  return chunks;
}
