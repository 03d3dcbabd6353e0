/** Bytes by their SHA-256. Equal bytes are kept once; nothing is ever cut. */
import { valueTooLarge } from '../errors.ts';
import { sha256Hex } from './digest.ts';
import type { SqlPort } from './sql.ts';

/** SQLite rows here hold at most 2 MB; parts of half that leave room for the rest of a row. */
const PART_BYTES = 1_000_000;
/** The ceiling of one value: what fits into a request to a provider, and well under an isolate's memory. */
const MAX_VALUE_BYTES = 16_000_000;

export interface Blobs {
  /** Keeps the bytes and returns their digest. Throws `valueTooLarge` over MAX_VALUE_BYTES. */
  put: (bytes: Uint8Array | string) => string;
  /** Throws where the digest is unknown: the log never names bytes that are not there. */
  get: (digest: string) => Uint8Array;
  getText: (digest: string) => string;
}

export function createBlobs(sql: SqlPort): Blobs {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const get = (digest: string): Uint8Array => {
    const rows = sql.all<{ bytes: ArrayBuffer }>(
      'SELECT bytes FROM blobs WHERE digest = ? ORDER BY part',
      digest,
    );
    if (rows.length === 0) throw new Error(`the blob ${digest} is missing`);
    return joinParts(rows.map((row) => new Uint8Array(row.bytes)));
  };
  return {
    put(value) {
      const bytes = typeof value === 'string' ? encoder.encode(value) : value;
      if (bytes.byteLength > MAX_VALUE_BYTES) {
        throw valueTooLarge(
          `A value of ${bytes.byteLength} bytes is over the ceiling of ${MAX_VALUE_BYTES}.`,
          {
            bytes: bytes.byteLength,
            limit: MAX_VALUE_BYTES,
          },
        );
      }
      const digest = sha256Hex(bytes);
      const known = sql.all('SELECT 1 FROM blobs WHERE digest = ? AND part = 0', digest).length > 0;
      if (known) return digest;
      let part = 0;
      do {
        const slice = bytes.slice(part * PART_BYTES, (part + 1) * PART_BYTES);
        sql.run('INSERT INTO blobs (digest, part, bytes) VALUES (?, ?, ?)', digest, part, toBuffer(slice));
        part++;
      } while (part * PART_BYTES < bytes.byteLength);
      return digest;
    },
    get,
    getText: (digest) => decoder.decode(get(digest)),
  };
}

function toBuffer(slice: Uint8Array): ArrayBuffer {
  const buffer = new ArrayBuffer(slice.byteLength);
  new Uint8Array(buffer).set(slice);
  return buffer;
}

function joinParts(parts: Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
