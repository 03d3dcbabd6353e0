/** A client of the measured service with a key of its own, and the door to what the benchmark looks at inside. */
import { z } from 'zod';
import { formatKey, hashKey, type KeyRecord, nameKeyEntry, SCOPES } from '../../worker/auth/key-format.ts';
import { type Answer, send } from './http-client.ts';

export const TENANT = 'bench';
export const KEY = formatKey(new Uint8Array(32).fill(7));

/** The key as the worker's KV holds it. */
export function keyEntry(): { key: string; value: KeyRecord } {
  const sha256 = hashKey(KEY);
  const value: KeyRecord = {
    id: 'key_bench',
    tenant: TENANT,
    scopes: [...SCOPES],
    created_at: new Date(0).toISOString(),
    name: 'bench',
    sha256,
  };
  return { key: nameKeyEntry(sha256), value };
}

const created = z.looseObject({ id: z.string() });
const rowCounts = z.object({ rows: z.number(), alarms: z.number() });
const turnEnd = z.looseObject({ reason: z.looseObject({ kind: z.string() }) });

export interface PerchClient {
  /** Creates a session that asks this model (`provider/model`); its id. */
  open: (model: string) => Promise<string>;
  /** A prompt whose turn is streamed to its end. Throws where it did not complete. */
  prompt: (session: string, text: string) => Promise<Answer>;
  /** A prompt that is answered with a receipt; returns when the turn is over, seen from outside. */
  promptUnwatched: (session: string, text: string) => Promise<void>;
  marks: (model: string) => Promise<number[]>;
  seed: (session: string, events: number) => Promise<number>;
  /** Milliseconds that a look at the next prompt takes. */
  viewPrompt: (session: string) => Promise<number>;
  /** Reads of the skills' KV so far, this question left out. */
  kvReads: () => Promise<number>;
  rows: (session: string) => Promise<z.infer<typeof rowCounts>>;
  /** Ends the object. Throws where the next request would not find a new one. */
  evict: (session: string) => Promise<void>;
}

const POLL_MS = 20;

export function createPerchClient(url: string): PerchClient {
  const headers = { authorization: `Bearer ${KEY}` };
  const bench = async (name: string, query: Record<string, string>): Promise<unknown> => {
    const search = new URLSearchParams({ tenant: TENANT, ...query });
    return JSON.parse((await send('GET', `${url}/bench/${name}?${search}`)).text);
  };
  const post = (session: string, accept: string, body: object): Promise<Answer> =>
    send('POST', `${url}/v1/sessions/${session}/messages`, { headers: { ...headers, accept }, body });
  const view = async (session: string): Promise<{ status: string }> => {
    const answer = await send('GET', `${url}/v1/sessions/${session}`, { headers });
    return z.looseObject({ status: z.string() }).parse(JSON.parse(answer.text));
  };
  const countBuilt = async (): Promise<number> => z.number().parse(await bench('built', {}));
  return {
    async open(model) {
      const { text } = await send('POST', `${url}/v1/sessions`, { headers, body: { model } });
      return created.parse(JSON.parse(text)).id;
    },
    async prompt(session, text) {
      const answer = await post(session, 'text/event-stream', { text });
      const [, end = ''] = /event: turn\/end\ndata: (.*)\n/.exec(answer.text) ?? [];
      if (end === '' || turnEnd.parse(JSON.parse(end)).reason.kind !== 'completed') {
        throw new Error(`the turn did not complete: ${answer.text.slice(-2_000)}`);
      }
      return answer;
    },
    async promptUnwatched(session, text) {
      await post(session, 'application/json', { text });
      while ((await view(session)).status !== 'idle') {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    marks: async (model) => z.array(z.number()).parse(await bench('marks', { model })),
    seed: async (session, events) =>
      z.number().parse(await bench('seed', { session, events: String(events) })),
    async viewPrompt(session) {
      const begun = performance.now();
      await send('GET', `${url}/v1/sessions/${session}/prompt`, { headers });
      return performance.now() - begun;
    },
    kvReads: async () => z.number().parse(await bench('kv-reads', {})),
    rows: async (session) => rowCounts.parse(await bench('rows', { session })),
    async evict(session) {
      const before = await countBuilt();
      await bench('evict', { session });
      await bench('evict', { session });
      // The second call met the first one's successor, and ended it too.
      if ((await countBuilt()) === before) throw new Error('the object was not evicted');
    },
  };
}
