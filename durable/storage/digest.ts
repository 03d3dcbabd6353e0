import { createHash } from 'node:crypto';

/** SHA-256 in lower-case hex. Synchronous, so that a digest can be part of one block of writes. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
