/** A client of the worker, and keys for it. Tests keep apart by tenant: each takes its own. */
import { env, exports } from 'cloudflare:workers';
import { z } from 'zod';
import { createId } from '../../worker/auth/ids.ts';
import {
  formatKey,
  hashKey,
  type KeyRecord,
  keyRecord,
  nameKeyEntry,
  SCOPES,
} from '../../worker/auth/key-format.ts';
import { readConfig } from '../../worker/config.ts';

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      mainModule: typeof import('./worker.ts');
      durableNamespaces: 'Session' | 'Directory';
    }
  }
}

export const ORIGIN = 'https://perch.test';

/** The test environment's configuration: the bindings, typed. */
export function testConfig() {
  return readConfig(env);
}

export function uniqueTenant(): string {
  return `tenant-${crypto.randomUUID()}`;
}

export function uniqueSession(): string {
  return createId('ses_');
}

/** Stores a key as the command does, and returns its text. */
export async function seedKey(
  tenant: string,
  more: Partial<Pick<KeyRecord, 'scopes' | 'revoked_at' | 'sha256'>> = {},
): Promise<string> {
  const key = formatKey(crypto.getRandomValues(new Uint8Array(32)));
  const sha256 = hashKey(key);
  const record = keyRecord.parse({
    id: `key_${crypto.randomUUID().slice(0, 8)}`,
    tenant,
    scopes: SCOPES,
    created_at: new Date(0).toISOString(),
    name: 'test',
    sha256,
    ...more,
  });
  await testConfig().keys.put(nameKeyEntry(sha256), JSON.stringify(record));
  return key;
}

export interface Call {
  key?: string | undefined;
  method?: string;
  headers?: Record<string, string>;
  /** An object is sent as JSON; text and streams as they are, with the JSON content type unless `headers` has one. */
  body?: string | object | undefined;
}

/** One request through the real worker. */
export function call(path: string, { key, method, headers = {}, body }: Call = {}): Promise<Response> {
  const all = new Headers(headers);
  if (key !== undefined) all.set('authorization', `Bearer ${key}`);
  if (body !== undefined && !all.has('content-type')) all.set('content-type', 'application/json');
  const sent =
    body === undefined || typeof body === 'string' || body instanceof ReadableStream
      ? body
      : JSON.stringify(body);
  const init: RequestInit = { method: method ?? (body === undefined ? 'GET' : 'POST'), headers: all };
  if (sent !== undefined) init.body = sent;
  return exports.default.fetch(new Request(`${ORIGIN}${path}`, init));
}

const problemBody = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  detail: z.string(),
  code: z.string(),
});

/** The problem document of a refusal; throws where the response is none. */
export async function readProblem(response: Response): Promise<z.infer<typeof problemBody>> {
  const text = await response.text();
  if (response.headers.get('content-type') !== 'application/problem+json') {
    throw new Error(`no problem document: ${response.status} ${text.slice(0, 500)}`);
  }
  return problemBody.parse(JSON.parse(text));
}

/** A JSON answer, by its schema; throws with the body where the status is another. */
export async function readJsonAs<Schema extends z.ZodType>(
  response: Response,
  status: number,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`status ${response.status}: ${text.slice(0, 500)}`);
  return schema.parse(JSON.parse(text));
}

/** A session of the agent `plain`, which answers at once without a server. */
export async function openSession(key: string, body: object = {}): Promise<string> {
  const response = await call('/v1/sessions', { key, body: { agent: 'plain', ...body } });
  return (await readJsonAs(response, 201, z.object({ id: z.string() }))).id;
}

export interface ReceivedEvent {
  event: string;
  id: string | null;
  data: string;
}

/** A response's server-sent events as they come; comments and `retry` are left out. Ends with the stream. */
export async function* readEvents(response: Response): AsyncGenerator<ReceivedEvent> {
  if (response.body === null) return;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = parseBlock(text.slice(0, end));
      text = text.slice(end + 2);
      if (event !== null) yield event;
    }
  }
}

/** Events up to and including the first of this type. Leaves the stream: the client goes away. */
export async function readUntil(response: Response, type: string): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
  for await (const event of readEvents(response)) {
    events.push(event);
    if (event.event === type) break;
  }
  return events;
}

function parseBlock(block: string): ReceivedEvent | null {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  const find = (name: string): string | null => fields.find(([field]) => field === name)?.[1] ?? null;
  const event = find('event');
  return event === null ? null : { event, id: find('id'), data: find('data') ?? '' };
}
