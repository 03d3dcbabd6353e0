/** The way to a server: where requests may go, how long an answer may be, and that nothing stays open. */
import type { FetchLike } from '@modelcontextprotocol/client';
import { mcpUnavailable } from '../../errors.ts';
import { mayAsk } from './config.ts';

/** An answer with some images is a few MB; an object has 128 MB for everything. */
const MAX_BYTES = 8 * 1024 * 1024;

export interface GuardedFetch {
  fetch: FetchLike;
  /** Settles when the notifications that were sent have arrived, or could not. */
  flushed: () => Promise<void>;
}

export function guardFetch(server: string, allowHosts: readonly string[]): GuardedFetch {
  const pending = new Set<Promise<unknown>>();
  return {
    async fetch(input, init) {
      const url = new URL(input);
      if (!mayAsk(url, allowHosts)) {
        throw mcpUnavailable(`${server} leads to ${url.origin}, which is not reached over https.`);
      }
      if (isStandingStream(init)) return new Response(null, { status: 405 });
      const sent = fetch(url.href, { ...init, redirect: init?.redirect ?? 'manual' });
      if (isNotification(init)) {
        pending.add(sent);
        const settle = () => pending.delete(sent);
        sent.then(settle, settle);
      }
      return limitBody(server, await orUnreachable(server, sent, init?.signal));
    },
    async flushed() {
      await Promise.allSettled([...pending]);
    },
  };
}

/**
 * The stream on which a server talks without being asked: it would keep the object awake. The protocol lets a server
 * have none, and so a client gets on without.
 */
function isStandingStream(init: RequestInit | undefined): boolean {
  const headers = new Headers(init?.headers);
  return (
    init?.method === 'GET' && headers.get('accept') === 'text/event-stream' && !headers.has('last-event-id')
  );
}

function isNotification(init: RequestInit | undefined): boolean {
  return init?.method === 'POST' && typeof init.body === 'string' && !/"id"\s*:/.test(init.body);
}

/** The runtimes differ in what they say of a connection that failed, and say nothing that a reader could use. */
async function orUnreachable(
  server: string,
  sent: Promise<Response>,
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  try {
    return await sent;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw mcpUnavailable(`${server} cannot be reached.`);
  }
}

function limitBody(server: string, response: Response): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes <= MAX_BYTES) controller.enqueue(chunk);
        else controller.error(mcpUnavailable(`The answer of ${server} is longer than ${MAX_BYTES} bytes.`));
      },
    }),
  );
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  // Of the body as it was on the wire.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(counted, { status, statusText, headers });
}
