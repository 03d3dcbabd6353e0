/**
 * A model inside the worker. What it says follows from the prompt alone, as with `offline/instant`, so that a request
 * which is asked again gets the same answer; it can be held in the middle of an answer, and made to fail. Its id is
 * the session's.
 */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ProviderDefinition } from '../../durable/models/index.ts';
import { composeReply } from '../../durable/models/offline-reply.ts';
import { holdUntilReleased, type ModelFailure, tellOutside } from './outside.ts';

/** In a person's newest words: the answer is held after some words; it comes slowly. */
export const HOLD = 'hold the answer';
export const SLOWLY = 'say it slowly';
const WORDS_BEFORE_HOLD = 6;
const SLOW_MS = 2;
/** While an answer is held, parts without content keep the stream from looking stalled. */
const TOUCH_MS = 40;

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

export const puppet: ProviderDefinition = {
  name: 'puppet',
  create: () => ({
    metaKey: 'puppet',
    marksSource: true,
    accepts: () => false,
    model: (id) => createPuppet(id),
  }),
};

function createPuppet(session: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'puppet',
    modelId: session,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('the puppet only streams')),
    async doStream({ prompt, tools = [], abortSignal }) {
      const failure = await tellOutside({ session, prompt });
      if (failure) throwIfRefused(failure);
      const words = newestWords(prompt);
      const parts = failure === 'empty' ? toParts('', []) : toPartsOf(composeReply(prompt, tools));
      return {
        stream: streamParts(parts, {
          session,
          signal: abortSignal,
          holdAt: words.includes(HOLD) ? WORDS_BEFORE_HOLD : -1,
          pauseMs: words.includes(SLOWLY) ? SLOW_MS : 0,
          failure,
        }),
      };
    },
  };
}

function throwIfRefused(failure: ModelFailure): void {
  const about = { url: 'https://puppet.test/', requestBodyValues: {} };
  switch (failure) {
    case 'rate-limit':
      throw new APICallError({
        ...about,
        message: 'too many requests',
        statusCode: 429,
        responseHeaders: { 'retry-after-ms': '5' },
      });
    case 'server':
      throw new APICallError({ ...about, message: 'it failed', statusCode: 500, responseHeaders: {} });
    case 'unreachable':
      throw new TypeError('fetch failed');
    case 'empty':
    case 'cut':
    case 'stall':
      return;
  }
}

/** What people and the harness said since the model last spoke. */
function newestWords(prompt: LanguageModelV4Prompt): string {
  const last = prompt.findLastIndex(({ role }) => role === 'assistant');
  return prompt
    .slice(last + 1)
    .flatMap((message) => (message.role === 'user' ? message.content : []))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');
}

function toPartsOf({ text, calls }: ReturnType<typeof composeReply>): LanguageModelV4StreamPart[] {
  return toParts(text, calls);
}

function toParts(text: string, calls: ReturnType<typeof composeReply>['calls']): LanguageModelV4StreamPart[] {
  const unified = calls.length > 0 ? 'tool-calls' : 'stop';
  const words = text.match(/\s*\S+/g) ?? [];
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 'text' },
    ...words.map((delta) => ({ type: 'text-delta' as const, id: 'text', delta })),
    { type: 'text-end', id: 'text' },
    ...calls.map((call) => ({ type: 'tool-call' as const, ...call })),
    { type: 'finish', finishReason: { unified, raw: unified }, usage: USAGE },
  ];
}

interface Pace {
  session: string;
  signal: AbortSignal | undefined;
  /** The part before which it is held; -1 for none. */
  holdAt: number;
  pauseMs: number;
  failure: ModelFailure | null;
}

/** Parts as they are pulled. An abort fails the stream as a fetch would. */
function streamParts(
  parts: readonly LanguageModelV4StreamPart[],
  { session, signal, holdAt, pauseMs, failure }: Pace,
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  let held = holdAt < 0;
  return new ReadableStream({
    async pull(controller) {
      if (!held && next === holdAt) {
        held = await holdUntilReleased(session, signal, TOUCH_MS);
        if (!held) return controller.enqueue({ type: 'response-metadata', modelId: session });
      }
      if (failure === 'stall' && next === 3) {
        while (signal?.aborted !== true) await scheduler.wait(5);
      }
      const part = parts[next++];
      if (pauseMs > 0 && part?.type === 'text-delta') await scheduler.wait(pauseMs);
      if (signal?.aborted) return controller.error(signal.reason);
      if (part === undefined || (failure === 'cut' && next > 4)) controller.close();
      else controller.enqueue(part);
    },
  });
}
