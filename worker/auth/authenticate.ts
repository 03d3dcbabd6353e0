/** From an Authorization header to a tenant (DESIGN section 9). */
import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { missingScope, unauthenticated, unavailable } from '../../durable/errors.ts';
import type { KeyCache } from './key-cache.ts';
import { hashKey, isKey, type KeyRecord, keyRecord, nameKeyEntry, type Scope } from './key-format.ts';

export interface Caller {
  tenant: string;
  /** The key's public id, for log lines. */
  keyId: string;
  scopes: readonly Scope[];
}

/** The least that KV takes; its default of 60 s would keep a revoked key alive longer. */
const KV_CACHE_SECONDS = 30;

/**
 * Who is calling. One answer for a key that is absent, malformed, unknown or revoked.
 * Throws `unauthenticated`, and `unavailable` where the key store does not answer.
 */
export async function authenticate(
  authorization: string | undefined,
  keys: KVNamespace,
  cache: KeyCache,
): Promise<Caller> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw unauthenticated('Send an API key: `Authorization: Bearer perch_…`.');
  const record = isKey(token) ? await findRecord(hashKey(token), keys, cache) : null;
  if (record === null || record.revoked_at !== undefined) throw unauthenticated('The API key is not valid.');
  return { tenant: record.tenant, keyId: record.id, scopes: record.scopes };
}

/** Throws `missing_scope`, which names the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope)) throw missingScope(`The API key lacks the scope ${scope}.`, { scope });
}

async function findRecord(hash: string, keys: KVNamespace, cache: KeyCache): Promise<KeyRecord | null> {
  const cached = cache.get(hash);
  if (cached !== undefined) return cached;
  const stored = await readEntry(hash, keys);
  if (stored === null) return null;
  const parsed = keyRecord.safeParse(stored);
  if (!parsed.success || !equalsInConstantTime(parsed.data.sha256, hash)) return null;
  cache.set(hash, parsed.data);
  return parsed.data;
}

async function readEntry(hash: string, keys: KVNamespace): Promise<unknown> {
  try {
    return await keys.get(nameKeyEntry(hash), { type: 'json', cacheTtl: KV_CACHE_SECONDS });
  } catch (error) {
    // A value that is no JSON is nobody's key; a store that does not answer is no verdict on the key.
    if (error instanceof SyntaxError) return null;
    throw unavailable('The key store does not answer.');
  }
}

function equalsInConstantTime(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
