/**
 * What is outside of the service and is not killed with it: a model server whose answers take their time, and the
 * counter of what the tool did. It notes when a session was heard of.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nowMs } from '../bench/clock.ts';
import { planAnswer } from '../bench/model-script.ts';

export interface OutsideServer {
  /** What providers are given. */
  baseUrl: string;
  /** Ids of the calls that took effect, by session. */
  effects: (session: string) => readonly string[];
  /** When each request for a model of this name began (`nowMs()`). */
  asked: (model: string) => readonly number[];
  stop: () => Promise<void>;
}

/** From one piece of an answer to the next. */
const PACE_MS = 4;
/** How long the tool's effect takes: kills fall into it. */
const EFFECT_MS = 15;

const chat = z.object({ model: z.string(), messages: z.array(z.looseObject({ role: z.string() })) });
const effect = z.object({ session: z.string(), call: z.string() });

export async function startOutsideServer(): Promise<OutsideServer> {
  const effects = new Map<string, string[]>();
  const asked = new Map<string, number[]>();
  const add = <T>(to: Map<string, T[]>, key: string, value: T): void => {
    to.set(key, [...(to.get(key) ?? []), value]);
  };
  const answerChat = async (body: string, response: ServerResponse): Promise<void> => {
    const { model, messages } = chat.parse(JSON.parse(body));
    add(asked, model, nowMs());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const payload of planAnswer(model, messages)) {
      if (response.destroyed) return;
      response.write(`data: ${payload}\n\n`);
      await sleep(PACE_MS);
    }
    response.end('data: [DONE]\n\n');
  };
  const answerRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    if (request.url?.endsWith('/effects') !== true) return answerChat(body, response);
    const { session, call } = effect.parse(JSON.parse(body));
    add(effects, session, call);
    await sleep(EFFECT_MS);
    response.end('{}');
  };
  const server = createServer((request, response) => {
    // The caller is killed again and again: whoever is gone gets no answer.
    answerRequest(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    effects: (session) => effects.get(session) ?? [],
    asked: (model) => asked.get(model) ?? [],
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Uint8Array).parse(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
