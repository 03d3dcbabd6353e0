/**
 * The benchmark's client: kept connections, one for as long as one request follows the other, and the moment at which the
 * first text came.
 */
import { Agent, type IncomingMessage, request as startRequest } from 'node:http';
import { nowMs } from './clock.ts';

/** Nothing here takes seconds: a service that hangs fails the benchmark and does not hang it. */
const TIMEOUT_MS = 30_000;
export const MOST_CONNECTIONS = 16;
const agent = new Agent({ keepAlive: true, maxSockets: MOST_CONNECTIONS, noDelay: true });

export interface Answer {
  status: number;
  text: string;
  /** When the request was handed to the socket, and when the first `delta` event was here; `nowMs()`. */
  sentAt: number;
  firstTextAt: number | null;
}

/** Sends a request and reads the whole answer. Throws on a status of 400 or more, with the body. */
export async function send(
  method: string,
  url: string,
  options: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const headers = {
    ...options.headers,
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = startRequest(
    url,
    { method, headers, agent, signal: AbortSignal.timeout(TIMEOUT_MS) },
    resolve,
  );
  outgoing.on('error', reject);
  const sentAt = nowMs();
  outgoing.end(body);
  const response = await promise;
  const answer = await readAnswer(response, sentAt);
  if (answer.status >= 400) throw new Error(`${method} ${url}: ${answer.status} ${answer.text}`);
  return answer;
}

async function readAnswer(response: IncomingMessage, sentAt: number): Promise<Answer> {
  let firstTextAt: number | null = null;
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    text += String(chunk);
    if (firstTextAt === null && text.includes('event: delta')) firstTextAt = nowMs();
  }
  return { status: response.statusCode ?? 0, text, sentAt, firstTextAt };
}
