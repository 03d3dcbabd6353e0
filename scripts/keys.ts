/**
 * `npm run keys -- create --tenant T [--name N] [--scopes a,b] | list | revoke <id>`, each with `[--remote]` or
 * `[--persist-to DIR]` (where wrangler keeps local state; `.wrangler/state` where absent). A key is printed once, when
 * it is made: what is stored is its SHA-256.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';
import {
  formatKey,
  hashKey,
  KEY_BYTES,
  type KeyRecord,
  keyRecord,
  nameKeyEntry,
  SCOPES,
  type Scope,
  scope,
} from '../worker/auth/key-format.ts';

/** Where keys are: this machine's state, or the account's namespace. */
export type KeyPlace = { kind: 'local'; persistTo?: string | undefined } | { kind: 'remote' };

export interface NewKey {
  tenant: string;
  name?: string | undefined;
  /** All of them where absent. */
  scopes?: readonly Scope[] | undefined;
}

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WRANGLER = fileURLToPath(new URL('../node_modules/wrangler/bin/wrangler.js', import.meta.url));

/** The metadata of a KV entry: the record, so that one listing shows all. KV takes 1,024 bytes of it. */
const entryList = z.array(
  z.object({ name: z.string(), metadata: keyRecord.omit({ sha256: true }).optional().catch(undefined) }),
);

/** Makes a key and stores its hash. The key itself is in the answer and nowhere else. */
export async function createKey(
  wanted: NewKey,
  place: KeyPlace = { kind: 'local' },
): Promise<{ key: string; id: string }> {
  const key = formatKey(randomBytes(KEY_BYTES));
  const sha256 = hashKey(key);
  const record = keyRecord.parse({
    id: `key_${randomBytes(6).toString('hex')}`,
    tenant: wanted.tenant,
    scopes: wanted.scopes ?? SCOPES,
    created_at: new Date().toISOString(),
    name: wanted.name ?? '',
    sha256,
  });
  await putRecord(record, place);
  return { key, id: record.id };
}

/** All keys of the deployment, without what could be used. */
export async function listKeys(place: KeyPlace = { kind: 'local' }): Promise<KeyRecord[]> {
  const text = await runKv(['list', '--prefix', nameKeyEntry('')], place);
  const entries = entryList.parse(JSON.parse(text.slice(text.indexOf('['))));
  return entries.flatMap(({ name, metadata }) =>
    metadata === undefined ? [] : [{ ...metadata, sha256: name.slice(nameKeyEntry('').length) }],
  );
}

/** The record stays, revoked. Throws where there is no such key. */
export async function revokeKey(id: string, place: KeyPlace = { kind: 'local' }): Promise<void> {
  const record = (await listKeys(place)).find((key) => key.id === id);
  if (record === undefined) throw new Error(`There is no key ${id}.`);
  await putRecord({ ...record, revoked_at: record.revoked_at ?? new Date().toISOString() }, place);
}

async function putRecord(record: KeyRecord, place: KeyPlace): Promise<void> {
  const { sha256, ...metadata } = record;
  const value = ['--metadata', JSON.stringify(metadata)];
  await runKv(['put', nameKeyEntry(sha256), JSON.stringify(record), ...value], place);
}

async function runKv(args: readonly string[], place: KeyPlace): Promise<string> {
  const where =
    place.kind === 'remote'
      ? ['--remote']
      : ['--local', ...(place.persistTo === undefined ? [] : ['--persist-to', place.persistTo])];
  const { stdout } = await run(
    process.execPath,
    [WRANGLER, 'kv', 'key', ...args, '--binding', 'KEYS', ...where],
    {
      cwd: ROOT,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' },
    },
  );
  return stdout;
}

function parseScopes(list: string): Scope[] {
  const parsed = z
    .array(scope)
    .min(1)
    .safeParse(list.split(',').map((name) => name.trim()));
  if (!parsed.success) throw new Error(`Scopes are some of ${SCOPES.join(', ')}.`);
  return parsed.data;
}

const USAGE = `npm run keys -- create --tenant T [--name N] [--scopes ${SCOPES.join(',')}]
npm run keys -- list
npm run keys -- revoke <id>
each with [--remote] or [--persist-to DIR]`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      tenant: { type: 'string' },
      name: { type: 'string' },
      scopes: { type: 'string' },
      remote: { type: 'boolean', default: false },
      'persist-to': { type: 'string' },
    },
  });
  const place: KeyPlace = values.remote
    ? { kind: 'remote' }
    : { kind: 'local', persistTo: values['persist-to'] };
  const [command, id] = positionals;
  if (command === 'create' && values.tenant !== undefined) {
    const scopes = values.scopes === undefined ? undefined : parseScopes(values.scopes);
    const made = await createKey({ tenant: values.tenant, name: values.name, scopes }, place);
    console.log(`${made.key}\n\nKey ${made.id} of tenant ${values.tenant}. It is not shown again.`);
  } else if (command === 'list') {
    for (const key of await listKeys(place)) console.log(describeKey(key));
  } else if (command === 'revoke' && id !== undefined) {
    await revokeKey(id, place);
    console.log(`Key ${id} is revoked. Workers that know it refuse it within a minute or two.`);
  } else {
    throw new Error(USAGE);
  }
}

function describeKey({ id, tenant, name, scopes, created_at, revoked_at }: KeyRecord): string {
  const state = revoked_at === undefined ? '' : `  revoked ${revoked_at}`;
  return `${id}  ${tenant}  ${name || '-'}  ${scopes.join(',')}  made ${created_at}${state}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    console.error(
      error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : error,
    );
    process.exitCode = 1;
  });
}
