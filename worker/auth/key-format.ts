/**
 * API keys as text and as stored. Shared with the command that makes them, so it takes its random bytes.
 *
 * | KV key (binding KEYS) | value | lifetime |
 * |---|---|---|
 * | `key/<sha256 of the key, hex>` | `KeyRecord` as JSON | until it is deleted; revoking keeps it |
 */
import { z } from 'zod';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { encodeBase64Url } from './base64-url.ts';

export const SCOPES = [
  'sessions:read',
  'sessions:write',
  'prompt:read',
  'skills:read',
  'skills:write',
] as const;
export const scope = z.enum(SCOPES);
export type Scope = z.infer<typeof scope>;

/** 256 bits: not to be guessed, so a plain SHA-256 is enough to store it. */
export const KEY_BYTES = 32;
const KEY_PATTERN = /^perch_[A-Za-z0-9_-]{43}$/;

export const keyRecord = z.object({
  id: z.string().min(1),
  tenant: z.string().min(1).max(128),
  scopes: z.array(scope),
  /** ISO 8601. */
  created_at: z.string(),
  /** With the rest it must fit the metadata of a KV entry. */
  name: z.string().max(100),
  /** SHA-256 of the key in hex: what the KV key ends with, so that a record answers for its own key only. */
  sha256: z.string().length(64),
  revoked_at: z.string().optional(),
});
export type KeyRecord = z.infer<typeof keyRecord>;

/** `perch_` and 43 base64url characters. `random` holds `KEY_BYTES` bytes from a secure source. */
export function formatKey(random: Uint8Array): string {
  return `perch_${encodeBase64Url(random)}`;
}

export function isKey(text: string): boolean {
  return KEY_PATTERN.test(text);
}

export function hashKey(key: string): string {
  return sha256Hex(key);
}

export function nameKeyEntry(hash: string): string {
  return `key/${hash}`;
}
