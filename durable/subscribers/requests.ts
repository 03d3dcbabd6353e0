/** What a socket's client may say. Pure. */
import { Buffer } from 'node:buffer';
import { z } from 'zod';

const MESSAGE_BYTES = 4_096;
const ID_CHARS = 64;

/** Answered by the platform in this form, word for word, without waking the object. */
export const PING = '{"type":"ping"}';

const socketRequest = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('cancel'),
    /** Comes back in the reply. */
    id: z.string().max(ID_CHARS).nullable().default(null),
    clear_inbox: z.boolean().default(false),
    turn: z.int().positive().nullable().default(null),
  }),
  z.strictObject({ type: z.literal('ack'), n: z.int().nonnegative() }),
  z.strictObject({ type: z.literal('ping') }),
]);

export type SocketRequest =
  | z.infer<typeof socketRequest>
  | { type: 'invalid'; id: string | null; detail: string };

export function parseRequest(message: string | ArrayBuffer): SocketRequest {
  if (typeof message !== 'string') return refuse('A message is text.');
  if (Buffer.byteLength(message) > MESSAGE_BYTES) {
    return refuse(`A message has at most ${MESSAGE_BYTES} bytes.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(message);
  } catch {
    return refuse('The message is not JSON.');
  }
  const request = socketRequest.safeParse(value);
  if (request.success) return request.data;
  return refuse('The message is no `cancel`, `ack` or `ping` in its form.', readId(value));
}

function refuse(detail: string, id: string | null = null): SocketRequest {
  return { type: 'invalid', id, detail };
}

function readId(value: unknown): string | null {
  const named = z.looseObject({ id: z.string().max(ID_CHARS) }).safeParse(value);
  return named.success ? named.data.id : null;
}
