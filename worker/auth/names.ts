/**
 * Names that only this deployment can compute: of objects, and of what a retry must find again. Each is an
 * HMAC-SHA-256 over a label and its parts, every part behind its length in bytes, so that no two lists of parts
 * make one input. `createHmac` is synchronous and native in workerd, so no key is imported and nothing is awaited
 * on the way to an object.
 */
import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';

function sign(secret: string, label: string, parts: readonly string[]): Buffer {
  const mac = createHmac('sha256', secret);
  for (const part of [label, ...parts]) {
    const bytes = Buffer.from(part, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    mac.update(length).update(bytes);
  }
  return mac.digest();
}

/** The session object's name, in hex. The tenant comes from the API key and from nowhere else. */
export function objectName(secret: string, tenant: string, session: string): string {
  return sign(secret, 'perch/session', [tenant, session]).toString('hex');
}

/** The name of the object that lists a tenant's sessions, in hex. */
export function directoryName(secret: string, tenant: string): string {
  return sign(secret, 'perch/directory', [tenant]).toString('hex');
}

/** The message id that every retry under one Idempotency-Key shares: `msg_` and 128 bits as base64url. */
export function retriedMessageId(secret: string, tenant: string, session: string, key: string): string {
  const digest = sign(secret, 'perch/message', [tenant, session, key]);
  return `msg_${digest.subarray(0, 16).toString('base64url')}`;
}
