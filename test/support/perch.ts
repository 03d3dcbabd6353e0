/** A client of the real worker, with a key of a tenant of its own: what a user of the API would write. */
import { env, exports } from 'cloudflare:workers';
import { afterEach, expect, inject } from 'vitest';
import { z } from 'zod';
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import { objectName } from '../../worker/auth/index.ts';
import { formatKey, hashKey, type KeyRecord, nameKeyEntry, SCOPES } from '../../worker/auth/key-format.ts';
import { createModelClient } from './model-client.ts';

export const models = createModelClient(inject('modelServer'));

/** An event as clients see it. */
const seenEvent = z.looseObject({ seq: z.number(), at: z.number(), type: z.string() });
export type SeenEvent = z.infer<typeof seenEvent>;
const seenPage = z.object({ data: z.array(seenEvent), next: z.number().nullable() });

export const answerBody = z.looseObject({
  receipt: z.object({ session: z.string(), message: z.string(), seq: z.number() }),
  turn: z.number(),
  reason: z.looseObject({ kind: z.string() }),
  text: z.string(),
});

const bindings = z.object({
  KEYS: z.custom<KVNamespace>(),
  SESSIONS: z.custom<DurableObjectNamespace>(),
  OBJECT_NAME_SECRET: z.string(),
});

export async function createTenantKey(tenant: string, scopes: readonly string[] = SCOPES): Promise<string> {
  const key = formatKey(crypto.getRandomValues(new Uint8Array(32)));
  const record: KeyRecord = {
    id: `key_${tenant}`,
    tenant,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    created_at: new Date().toISOString(),
    name: 'test',
    sha256: hashKey(key),
  };
  await bindings.parse(env).KEYS.put(nameKeyEntry(hashKey(key)), JSON.stringify(record));
  return key;
}

export interface Perch {
  tenant: string;
  request: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  /** Creates a session and returns its id. */
  open: (input: Record<string, unknown>) => Promise<string>;
  /** Sends a text and waits for the end of its turn. */
  ask: (session: string, text: string) => Promise<z.infer<typeof answerBody>>;
  /** Sends a text and does not wait. */
  post: (session: string, body: Record<string, unknown>) => Promise<Response>;
  events: (session: string, types?: string) => Promise<SeenEvent[]>;
}

const opened: { request: Perch['request']; session: string }[] = [];

/** Every session that a test makes is audited after it: its requests can be rebuilt from its log alone. */
afterEach(async () => {
  for (const { request, session } of opened.splice(0)) {
    const response = await request('GET', `/v1/sessions/${session}/export?include=blobs`);
    if (response.status === 404) continue; // the test erased it
    expect(
      auditSession(parseExport(new TextDecoder().decode(await response.arrayBuffer()))).findings,
      `audit of ${session}`,
    ).toEqual([]);
  }
});

/** A client of a fresh tenant. */
export async function createPerch(): Promise<Perch> {
  const tenant = `tenant-${crypto.randomUUID()}`;
  const key = await createTenantKey(tenant);
  const request: Perch['request'] = (method, path, body, headers = {}) =>
    exports.default.fetch(
      new Request(`https://perch.test${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const post: Perch['post'] = (session, body) => request('POST', `/v1/sessions/${session}/messages`, body);
  return {
    tenant,
    request,
    post,
    async open(input) {
      const response = await request('POST', '/v1/sessions', input);
      if (response.status !== 201) throw new Error(`create: ${response.status} ${await response.text()}`);
      const { id } = z.looseObject({ id: z.string() }).parse(await response.json());
      opened.push({ request, session: id });
      return id;
    },
    async ask(session, text) {
      const response = await request(
        'POST',
        `/v1/sessions/${session}/messages`,
        { text },
        { prefer: 'wait=20' },
      );
      if (response.status !== 200) throw new Error(`ask: ${response.status} ${await response.text()}`);
      return answerBody.parse(await response.json());
    },
    async events(session, types) {
      const events: SeenEvent[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const query: string = `after=${after}&limit=1000${types ? `&types=${types}` : ''}`;
        const page = seenPage.parse(
          await (await request('GET', `/v1/sessions/${session}/events?${query}`)).json(),
        );
        events.push(...page.data);
        after = page.next;
      }
      return events;
    },
  };
}

/** A model name that no other test uses. */
export function uniqueModel(): string {
  return `model-${crypto.randomUUID()}`;
}

/** The object of a session, for what only the runtime can do to it: evict it, run its alarm. */
export function sessionStub(perch: Perch, session: string): DurableObjectStub {
  const { SESSIONS, OBJECT_NAME_SECRET } = bindings.parse(env);
  return SESSIONS.get(SESSIONS.idFromName(objectName(OBJECT_NAME_SECRET, perch.tenant, session)));
}
