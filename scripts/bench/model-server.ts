/**
 * The stand-in model server, run as a process of its own:
 *
 *   POST /v1/chat/completions   OpenAI-compatible, streaming; the model's name says what it answers (`planAnswer`)
 *   GET  /records?model=<name>  the requests for that model so far, as `RequestRecord[]`; forgets them
 *   GET  /body?model=<name>     the newest request's body
 *   GET  /begun?model=<name>    when each request for that model began (`nowMs()`), answered or not
 *   GET  /clock                 this process's `nowMs()`
 *
 * Prints its port on a line of its own. It ends with its parent: when its standard input closes.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { nowMs } from './clock.ts';
import type { RequestRecord } from './model-record.ts';
import { paceOf, planAnswer } from './model-script.ts';

const records = new Map<string, RequestRecord[]>();
const bodies = new Map<string, string>();
const begun = new Map<string, number[]>();

const chat = z.object({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })),
});

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Uint8Array).parse(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function add<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const known = lists.get(key);
  if (known) known.push(value);
  else lists.set(key, [value]);
}

/** Until it is `due` (`nowMs()`), or for one turn of the event loop. */
function waitUntil(due: number): Promise<void> {
  const left = due - nowMs();
  return new Promise((resolve) => (left > 0 ? setTimeout(resolve, left) : setImmediate(resolve)));
}

/**
 * Each piece leaves in a turn of its own, as fast as the event loop goes or at the model's pace: many small packets, like a
 * model's. It stops when nobody reads any more.
 */
async function answerChat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const began = nowMs();
  const body = await readBody(request);
  const arrived = nowMs();
  const { model, messages } = chat.parse(JSON.parse(body));
  add(begun, model, began);
  bodies.set(model, body);
  const payloads = planAnswer(model, messages);
  const pace = paceOf(model);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const since = nowMs();
  for (const [i, payload] of payloads.entries()) {
    if (response.destroyed) break;
    response.write(`data: ${payload}\n\n`);
    // Due by the time since the first: what one piece lost the next ones make good.
    const isLast = i === payloads.length - 1;
    await waitUntil(pace === null || isLast ? 0 : since + (i + 1) * pace);
  }
  const record: RequestRecord = { began, arrived, ended: nowMs(), bytes: body.length };
  response.end('data: [DONE]\n\n');
  add(records, model, record);
}

const server = createServer((request, response) => {
  request.socket.setNoDelay(true);
  const url = new URL(request.url ?? '/', 'http://stand-in');
  const model = url.searchParams.get('model') ?? '';
  const sendJson = (value: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  switch (url.pathname) {
    case '/v1/chat/completions':
      answerChat(request, response).catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
      return;
    case '/records':
      sendJson(records.get(model) ?? []);
      records.delete(model);
      return;
    case '/begun':
      sendJson(begun.get(model) ?? []);
      return;
    case '/body':
      sendJson(JSON.parse(bodies.get(model) ?? 'null'));
      return;
    case '/clock':
      sendJson(nowMs());
      return;
    default:
      response.writeHead(404).end();
  }
});

// Longer than any pause of the benchmark: a connection that is opened anew would be measured.
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address !== null ? address.port : '');
});
process.stdin.on('end', () => process.exit(0)).resume();
