/**
 * The stand-in model server, run as a process of its own:
 *
 *   POST /v1/chat/completions   OpenAI-compatible, streaming; the model's name says what it answers (`planAnswer`)
 *   GET  /records?model=<name>  the requests for that model so far, as `RequestRecord[]`; forgets them
 *   GET  /body?model=<name>     the newest request's body
 *   GET  /clock                 this process's `nowMs()`
 *
 * Prints its port on a line of its own. It ends with its parent: when its standard input closes.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { nowMs } from './clock.ts';
import type { RequestRecord } from './model-record.ts';
import { planAnswer } from './model-script.ts';

const records = new Map<string, RequestRecord[]>();
const bodies = new Map<string, string>();

const chat = z.object({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })),
});

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Uint8Array).parse(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** Each piece leaves in a turn of its own, as fast as the event loop goes: many small packets, like a model's. */
async function answerChat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const began = nowMs();
  const body = await readBody(request);
  const arrived = nowMs();
  const { model, messages } = chat.parse(JSON.parse(body));
  const payloads = planAnswer(model, messages);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const payload of payloads) {
    response.write(`data: ${payload}\n\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const record: RequestRecord = { began, arrived, ended: nowMs(), bytes: body.length };
  response.end('data: [DONE]\n\n');
  const known = records.get(model);
  if (known) known.push(record);
  else records.set(model, [record]);
  bodies.set(model, body);
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
