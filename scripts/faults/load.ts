/** Clients of a service that is killed under them: each request is sent again, under its key, until it is answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseExport } from '../../durable/audit/exported.ts';
import { KEY } from '../bench/perch-client.ts';
import type { Acknowledged } from './history.ts';

export interface LoadedSession {
  id: string;
  /** The model's name, under which the outside hears of it. */
  model: string;
  acknowledged: Acknowledged[];
}

const TRY_MS = 20_000;
const PAUSE_MS = 50;
const created = z.looseObject({ id: z.string() });
const receipt = z.looseObject({ message: z.string(), seq: z.number() });
const view = z.looseObject({ status: z.string(), queued: z.number(), last_seq: z.number() });

export interface LoadClient {
  /** Opens a session over a model that calls the tool so many times a turn. */
  open: (name: string, calls: number) => Promise<LoadedSession>;
  /** Sends a prompt; resolves when it was acknowledged. `follow` reads its turn as a stream, as far as it comes. */
  prompt: (session: LoadedSession, text: string, follow: boolean) => Promise<void>;
  view: (session: LoadedSession) => Promise<{ isIdle: boolean; lastSeq: number }>;
  export: (session: LoadedSession) => Promise<ReturnType<typeof parseExport>>;
  /** Requests that were sent again. */
  repeats: () => number;
}

export function createLoadClient(url: string): LoadClient {
  let repeats = 0;
  const send = async (method: string, path: string, body: unknown, accept: string): Promise<string> => {
    const key = crypto.randomUUID();
    const until = Date.now() + TRY_MS;
    for (;;) {
      const text = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${KEY}`,
          accept,
          'idempotency-key': key,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TRY_MS),
      }).then(readAnswer, () => null);
      if (text !== null) return text;
      if (Date.now() > until) throw new Error(`${method} ${path} is not answered`);
      repeats++;
      await sleep(PAUSE_MS);
    }
  };
  const json = (method: string, path: string, body?: unknown): Promise<string> =>
    send(method, path, body, 'application/json');
  const follow = async (session: LoadedSession, text: string): Promise<z.infer<typeof receipt>> => {
    const stream = await send('POST', `/v1/sessions/${session.id}/messages`, { text }, 'text/event-stream');
    const [, data] = /^event: receipt\ndata: (.*)$/m.exec(stream) ?? [];
    // A stream that could not be opened is answered with the receipt alone.
    return receipt.parse(JSON.parse(data ?? stream));
  };
  return {
    async open(name, calls) {
      const model = `calls-${calls}-${name}`;
      const { id } = created.parse(
        JSON.parse(await json('POST', '/v1/sessions', { model: `stand-in/${model}` })),
      );
      return { id, model, acknowledged: [] };
    },
    async prompt(session, text, isFollowed) {
      const path = `/v1/sessions/${session.id}/messages`;
      const { message: id, seq } = isFollowed
        ? await follow(session, text)
        : receipt.parse(JSON.parse(await json('POST', path, { text })));
      session.acknowledged.push({ id, seq });
    },
    async view({ id }) {
      const { status, queued, last_seq } = view.parse(JSON.parse(await json('GET', `/v1/sessions/${id}`)));
      return { isIdle: status === 'idle' && queued === 0, lastSeq: last_seq };
    },
    export: async ({ id }) => parseExport(await json('GET', `/v1/sessions/${id}/export?include=blobs`)),
    repeats: () => repeats,
  };
}

/** Null for what is worth another try. A stream that breaks off after its receipt has said what counts. */
async function readAnswer(response: Response): Promise<string | null> {
  let text = '';
  try {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch {
    if (!text.includes('event: receipt\ndata: ') || !text.includes('\n\n', text.indexOf('event: receipt'))) {
      return null;
    }
  }
  if (response.status >= 500) return null;
  if (response.status >= 400) throw new Error(`${response.url}: ${response.status} ${text}`);
  return text;
}
