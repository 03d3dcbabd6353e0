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
const viewed = z.looseObject({ status: z.string(), last_seq: z.number() });
const rowCounts = z.object({ rows: z.number(), alarms: z.number() });
const turnEnd = z.looseObject({ reason: z.looseObject({ kind: z.string() }) });

/** An event of the log, as far as the benchmark looks at it. */
const logged = z.looseObject({ seq: z.number(), at: z.number(), type: z.string() });
export type LoggedEvent = z.infer<typeof logged>;

export interface PerchClient {
  /** The service, and what every request to it has to say: for streams that are read elsewhere. */
  url: string;
  headers: Record<string, string>;
  /** Creates a session that asks this model (`provider/model`); its id. */
  open: (model: string) => Promise<string>;
  /** A prompt whose turn is streamed to its end. Throws where it did not complete. */
  prompt: (session: string, text: string) => Promise<Answer>;
  /** A prompt that is answered with a receipt, at once. */
  post: (session: string, text: string) => Promise<void>;
  /** The same; returns when the turn is over, seen from outside. */
  promptUnwatched: (session: string, text: string) => Promise<void>;
  cancel: (session: string) => Promise<void>;
  lastSeq: (session: string) => Promise<number>;
  /** The events after a seq, 1,000 at the most. */
  events: (session: string, after: number) => Promise<LoggedEvent[]>;
  marks: (model: string) => Promise<number[]>;
  seed: (session: string, events: number) => Promise<number>;
  /** Milliseconds that a look at the next prompt takes. */
  viewPrompt: (session: string) => Promise<number>;
  /** Reads of the skills' KV so far, this question left out. */
  kvReads: () => Promise<number>;
  rows: (session: string) => Promise<z.infer<typeof rowCounts>>;
  /** Ends the object. Throws where the next request would not find a new one. */
  evict: (session: string) => Promise<void>;
  /** A loop of its own answers `turns` prompts in a row, with its rooms on disk or in memory. Returns when it has. */
  runLoop: (run: { rooms: Rooms; model: string; turns: number }) => Promise<void>;
}

/** Where a loop's rooms are: `disk` is as the session has them. */
export type Rooms = 'disk' | 'memory';

const POLL_MS = 20;

export function createPerchClient(url: string): PerchClient {
  const headers = { authorization: `Bearer ${KEY}` };
  const bench = async (name: string, query: Record<string, string>): Promise<unknown> => {
    const search = new URLSearchParams({ tenant: TENANT, ...query });
    return JSON.parse((await send('GET', `${url}/bench/${name}?${search}`)).text);
  };
  const post = (session: string, accept: string, body: object): Promise<Answer> =>
    send('POST', `${url}/v1/sessions/${session}/messages`, { headers: { ...headers, accept }, body });
  const view = async (session: string): Promise<z.infer<typeof viewed>> => {
    const answer = await send('GET', `${url}/v1/sessions/${session}`, { headers });
    return viewed.parse(JSON.parse(answer.text));
  };
  const countBuilt = async (): Promise<number> => z.number().parse(await bench('built', {}));
  return {
    url,
    headers,
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
    async post(session, text) {
      await post(session, 'application/json', { text });
    },
    async promptUnwatched(session, text) {
      await post(session, 'application/json', { text });
      while ((await view(session)).status !== 'idle') {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async cancel(session) {
      await send('POST', `${url}/v1/sessions/${session}/cancel`, { headers, body: {} });
    },
    lastSeq: async (session) => (await view(session)).last_seq,
    async events(session, after) {
      const { text } = await send('GET', `${url}/v1/sessions/${session}/events?limit=1000&after=${after}`, {
        headers,
      });
      return z.object({ data: z.array(logged) }).parse(JSON.parse(text)).data;
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
    async runLoop({ rooms, model, turns }) {
      await bench('loop', { rooms, model, turns: String(turns) });
    },
  };
}
