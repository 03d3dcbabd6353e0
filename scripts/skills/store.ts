/** The KV namespace of the skills as a publisher works on it: on this machine, or of the account. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { KvEntry } from './bundle.ts';

export interface SkillStore {
  /** Values by key; a key that is absent is left out. */
  readTexts: (keys: readonly string[]) => Promise<Map<string, string>>;
  listKeys: (prefix: string) => Promise<string[]>;
  /** In this order: what is later in the list is never there before what is earlier. */
  put: (entries: readonly KvEntry[]) => Promise<void>;
  remove: (keys: readonly string[]) => Promise<void>;
}

/** `persistTo` is as wrangler's `--persist-to`. */
export type StorePlace = { kind: 'local'; persistTo: string } | { kind: 'remote' };

const BINDING = 'SKILLS';
const CONFIG = 'wrangler.toml';
/** Where wrangler keeps local state unless it is told otherwise. */
export const DEFAULT_STATE = '.wrangler/state';
/** The subfolder that wrangler puts under its `--persist-to`. */
const STATE_VERSION = 'v3';
const WRANGLER = fileURLToPath(new URL('../../node_modules/wrangler/bin/wrangler.js', import.meta.url));

export async function withStore<T>(place: StorePlace, use: (store: SkillStore) => Promise<T>): Promise<T> {
  if (place.kind === 'local') return withLocalStore(place.persistTo, use);
  return withFolder((folder) => use(createCommandStore(folder, ['--remote'])));
}

/** What is needed of a namespace on this machine. */
interface LocalNamespace {
  get(key: string, type: 'text'): Promise<string | null>;
  put(key: string, value: ArrayBuffer): Promise<void>;
  delete(key: string): Promise<void>;
  list(options: { prefix: string; cursor?: string }): Promise<{
    keys: { name: string }[];
    list_complete: boolean;
    cursor?: string;
  }>;
}

async function withLocalStore<T>(persistTo: string, use: (store: SkillStore) => Promise<T>): Promise<T> {
  // Loaded on use: it is large, and checking skills has no need of it.
  const { getPlatformProxy } = await import('wrangler');
  const path = resolve(persistTo, STATE_VERSION);
  await mkdir(path, { recursive: true });
  return withFolder(async (folder) => {
    // A configuration with this namespace alone: with the Durable Objects in it, this process would open their state
    // as well, and the alarms in it would ring here.
    const configPath = join(folder, 'wrangler.json');
    const config = { name: 'perch-skills', kv_namespaces: [await readNamespace()] };
    await writeFile(configPath, JSON.stringify(config));
    const proxy = await getPlatformProxy<{ [BINDING]: LocalNamespace }>({
      configPath,
      envFiles: [],
      persist: { path },
      remoteBindings: false,
    });
    try {
      return await use(createNamespaceStore(proxy.env[BINDING]));
    } finally {
      await proxy.dispose();
    }
  });
}

function createNamespaceStore(namespace: LocalNamespace): SkillStore {
  return {
    async readTexts(keys) {
      const texts = new Map<string, string>();
      for (const key of keys) {
        const text = await namespace.get(key, 'text');
        if (text !== null) texts.set(key, text);
      }
      return texts;
    },
    async listKeys(prefix) {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await namespace.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
        names.push(...page.keys.map(({ name }) => name));
        cursor = page.list_complete ? undefined : page.cursor;
      } while (cursor !== undefined);
      return names;
    },
    async put(entries) {
      for (const { key, bytes } of entries) await namespace.put(key, Uint8Array.from(bytes).buffer);
    },
    async remove(keys) {
      for (const key of keys) await namespace.delete(key);
    },
  };
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

const keyList = z.array(z.object({ name: z.string() }));
/** A value by itself, or in an object: wrangler prints the one for an account and the other for this machine. */
const bulkValue = z.union([z.string().nullable(), z.object({ value: z.string().nullable() })]);
const bulkValues = z.record(z.string(), bulkValue);

/** The platform's limit on one bulk read. */
const READ_KEYS = 100;

/**
 * Through wrangler's commands, with whatever account it is logged in to. `where` is `--remote`, or what names a local
 * state. Throws when a command fails.
 */
export function createCommandStore(folder: string, where: readonly string[]): SkillStore {
  const run = async (args: readonly string[]): Promise<string> => {
    const place = ['--binding', BINDING, '--config', CONFIG, ...where];
    const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' };
    const command = [WRANGLER, 'kv', ...args, ...place];
    return (await promisify(execFile)(process.execPath, command, { env, maxBuffer: 256 * 1024 * 1024 }))
      .stdout;
  };
  const runWithFile = async (command: string, content: unknown, flags: string[] = []): Promise<string> => {
    const file = join(folder, 'input.json');
    await writeFile(file, JSON.stringify(content));
    return run(['bulk', command, file, ...flags]);
  };
  return {
    async readTexts(keys) {
      const texts = new Map<string, string>();
      for (let at = 0; at < keys.length; at += READ_KEYS) {
        const output = await runWithFile('get', keys.slice(at, at + READ_KEYS));
        const values = bulkValues.parse(JSON.parse(output.slice(output.indexOf('{'))));
        for (const [key, found] of Object.entries(values)) {
          const text = typeof found === 'object' ? (found?.value ?? null) : found;
          if (text !== null) texts.set(key, text);
        }
      }
      return texts;
    },
    async listKeys(prefix) {
      const output = await run(['key', 'list', '--prefix', prefix]);
      return keyList.parse(JSON.parse(output.slice(output.indexOf('[')))).map(({ name }) => name);
    },
    async put(entries) {
      for (const chunk of splitChunks(entries)) await runWithFile('put', encodeBulk(chunk));
    },
    async remove(keys) {
      if (keys.length > 0) await runWithFile('delete', keys, ['--force']);
    },
  };
}

/** A temporary folder that is gone afterwards. */
async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'perch-skills-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Base64, so that bytes survive the JSON. */
export function encodeBulk(entries: readonly KvEntry[]): { key: string; value: string; base64: true }[] {
  return entries.map(({ key, bytes }) => ({
    key,
    value: Buffer.from(bytes).toString('base64'),
    base64: true,
  }));
}

/** Well under the 100 MB that a bulk write takes, base64 included. */
const CHUNK_BYTES = 25 * 1024 * 1024;
const CHUNK_ENTRIES = 5000;

/**
 * In order. A pointer and a manifest each get a chunk of their own: within one bulk write nothing says what is there
 * first.
 */
export function splitChunks(entries: readonly KvEntry[]): KvEntry[][] {
  const chunks: KvEntry[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const last = chunks.at(-1);
    const isOrdered = !entry.key.startsWith('content/');
    if (
      last === undefined ||
      isOrdered ||
      size + entry.bytes.byteLength > CHUNK_BYTES ||
      last.length >= CHUNK_ENTRIES
    ) {
      chunks.push([entry]);
      size = isOrdered ? Number.POSITIVE_INFINITY : entry.bytes.byteLength;
    } else {
      last.push(entry);
      size += entry.bytes.byteLength;
    }
  }
  return chunks;
}
