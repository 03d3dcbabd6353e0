/** Real adapters against the stand-in server, for the tests of this folder. */
import { afterAll, beforeAll } from 'vitest';
import {
  type AnswerOutcome,
  anthropic,
  askModel,
  type CallOptions,
  createModelResolver,
  type ModelAnswer,
  openaiCompatible,
  type ReadOptions,
  type ResolvedModel,
  waitWithTimer,
} from '../../durable/models/index.ts';
import { createModelClient, type ModelClient } from '../support/model-client.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';

export const KEY = 'sk-test-0123456789abcdefghij';
export const PROTOCOLS = ['openai', 'anthropic'] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

export interface StandIn {
  url: () => string;
  client: () => ModelClient;
  model: (protocol: ProtocolName, id: string) => Promise<ResolvedModel>;
}

/** Starts a server for the file. */
export function useStandIn(): StandIn {
  let server: ModelServer | null = null;
  const url = () => {
    if (server === null) throw new Error('the server has not started');
    return server.url;
  };
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(async () => server?.close());
  return {
    url,
    client: () => createModelClient(url()),
    async model(protocol, id) {
      const resolve = createModelResolver(
        [
          openaiCompatible({
            name: 'openai',
            baseUrlVar: 'MODEL_SERVER',
            key: 'MODEL_KEY',
            media: ['image/*'],
          }),
          anthropic({ baseUrlVar: 'MODEL_SERVER', key: 'MODEL_KEY' }),
        ],
        { MODEL_SERVER: url(), MODEL_KEY: KEY },
      );
      return resolve(protocol, id);
    },
  };
}

export const READ: ReadOptions = {
  signal: new AbortController().signal,
  stallMs: 5_000,
  wait: waitWithTimer,
  now: () => Date.parse('2026-11-01T12:00:00Z'),
  onDelta: () => undefined,
};

/** Asks for an answer to "Hello". */
export function ask(
  model: ResolvedModel,
  options: Partial<ReadOptions> = {},
  settings: Partial<CallOptions> = {},
): Promise<AnswerOutcome> {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
  return askModel(model, { prompt, ...settings }, { ...READ, ...options });
}

export function answerOf(outcome: AnswerOutcome): ModelAnswer {
  if (outcome.kind !== 'answer') throw new Error('it was aborted');
  return outcome.answer;
}
