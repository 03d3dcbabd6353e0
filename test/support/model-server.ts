/**
 * A stand-in model server over loopback HTTP, for both protocols. A test scripts it by the model's name:
 *
 *   POST /scripts/<model>    a `ModelScript`; replaces the one before it and forgets its requests
 *   GET  /requests/<model>   the requests that came for it, as `RecordedRequest[]`
 *   GET  /gates/<name>       answers when a response has come to this gate
 *   POST /gates/<name>       lets it through, now or when it comes
 *   POST …/chat/completions  OpenAI-compatible, streaming
 *   POST …/messages          Anthropic, streaming
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { frameOf, type Protocol, payloadsOf } from './model-frames.ts';
import {
  type ModelScript,
  modelScript,
  type RecordedRequest,
  type ScriptedResponse,
} from './model-script.ts';

export interface ModelServer {
  /** Without a slash at its end. */
  url: string;
  close: () => Promise<void>;
}

interface Gate {
  reached: PromiseWithResolvers<void>;
  released: PromiseWithResolvers<void>;
}

interface ServerState {
  scripts: Map<string, { script: ModelScript; next: number }>;
  requests: Map<string, RecordedRequest[]>;
  gates: Map<string, Gate>;
}

const SECRET_HEADERS = new Set(['authorization', 'x-api-key']);
const chatBody = z.object({ model: z.string() });

/** `port` 0 takes a free one. */
export async function startModelServer(port = 0): Promise<ModelServer> {
  const state: ServerState = { scripts: new Map(), requests: new Map(), gates: new Map() };
  const server = createServer((request, response) => {
    answer(state, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error), type: 'stand_in_error' } });
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(port, '127.0.0.1', listening.resolve);
  await listening.promise;
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

async function answer(state: ServerState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const [, room, name] = /^\/(scripts|requests|gates)\/(.+)$/.exec(path) ?? [];
  const body = await readBody(request);
  if (room === undefined || name === undefined) return answerChat(state, request, path, body, response);
  const key = decodeURIComponent(name);
  if (room === 'requests') return sendJson(response, 200, state.requests.get(key) ?? []);
  if (room === 'scripts') {
    state.scripts.set(key, { script: modelScript.parse(JSON.parse(body)), next: 0 });
    state.requests.set(key, []);
    return sendJson(response, 200, {});
  }
  const gate = gateOf(state, key);
  if (request.method === 'POST') gate.released.resolve();
  else await gate.reached.promise;
  return sendJson(response, 200, {});
}

async function answerChat(
  state: ServerState,
  request: IncomingMessage,
  path: string,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const protocol = protocolOf(path);
  if (protocol === null) return sendJson(response, 404, { error: { message: `nothing at ${path}` } });
  const { model } = chatBody.parse(JSON.parse(body));
  const known = state.requests.get(model) ?? [];
  known.push({ path, headers: plainHeaders(request), body });
  state.requests.set(model, known);
  await sendScripted(state, protocol, model, takeResponse(state, model), response);
}

function protocolOf(path: string): Protocol | null {
  if (path.endsWith('/chat/completions')) return 'openai';
  return path.endsWith('/messages') ? 'anthropic' : null;
}

function takeResponse(state: ServerState, model: string): ScriptedResponse {
  const entry = state.scripts.get(model);
  const { responses = [], repeat = false } = entry?.script ?? {};
  const at = Math.min(entry?.next ?? 0, repeat ? responses.length - 1 : responses.length);
  if (entry !== undefined) entry.next += 1;
  const message = `no scripted response ${at + 1} for ${model}`;
  return responses[at] ?? { status: 500, body: errorBody(message) };
}

/** A body that both adapters can read. */
function errorBody(message: string): string {
  return JSON.stringify({ type: 'error', error: { type: 'stand_in_error', message } });
}

async function sendScripted(
  state: ServerState,
  protocol: Protocol,
  model: string,
  scripted: ScriptedResponse,
  response: ServerResponse,
): Promise<void> {
  if ('hang' in scripted) return;
  if ('status' in scripted) {
    response.writeHead(scripted.status, { 'content-type': 'application/json', ...scripted.headers });
    response.end(scripted.body ?? errorBody(`scripted status ${scripted.status}`));
    return;
  }
  if ('garbage' in scripted) return sendGarbage(scripted.garbage, response);
  const done = protocol === 'openai' ? ['[DONE]'] : [];
  const payloads = [
    ...('chunks' in scripted ? scripted.chunks : payloadsOf(protocol, model, scripted)),
    ...done,
  ];
  const gateAt = scripted.gate === undefined ? -1 : (scripted.gate_after ?? 0);
  if (gateAt === 0) await passGate(state, scripted.gate);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const [index, payload] of payloads.entries()) {
    if (index > 0 && index === gateAt) await passGate(state, scripted.gate);
    if (index === scripted.hang_after) return;
    if (index === scripted.cut_after) {
      if (scripted.reset === true) response.destroy();
      else response.end();
      return;
    }
    if (scripted.delay_ms !== undefined) await sleep(scripted.delay_ms);
    response.write(frameOf(protocol, payload));
  }
  response.end();
}

async function passGate(state: ServerState, name = ''): Promise<void> {
  const gate = gateOf(state, name);
  gate.reached.resolve();
  await gate.released.promise;
}

function gateOf(state: ServerState, name: string): Gate {
  const gate = state.gates.get(name) ?? {
    reached: Promise.withResolvers(),
    released: Promise.withResolvers(),
  };
  state.gates.set(name, gate);
  return gate;
}

function sendGarbage(kind: true | 'html' | 'events', response: ServerResponse): void {
  if (kind === 'events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('data: {"choices": [{"delta": \n\ndata: not json at all\n\n');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<!doctype html><title>Welcome</title><p>This is a page.');
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function plainHeaders(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && !SECRET_HEADERS.has(name)) headers[name] = value;
  }
  return headers;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Uint8Array).parse(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
