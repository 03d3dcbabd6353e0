import { Buffer } from 'node:buffer';

/** RFC 4648 section 5, without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
