import { encodeBase64Url } from './base64-url.ts';

/** 128 random bits as 22 base64url characters behind a prefix: ids of sessions (`ses_`) and messages (`msg_`). */
export function createId(prefix: 'ses_' | 'msg_'): string {
  return prefix + encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}
