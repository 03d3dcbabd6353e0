/**
 * `offline/demo`: a deterministic stand-in inside the worker, so that every path can be tried without a key. It
 * streams word by word with real pauses; `offline/instant` does the same without them. What it says is in
 * `offline-reply.ts`.
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { estimateTokens } from '../prompt/tokens.ts';
import { composeReply, type OfflineReply } from './offline-reply.ts';

/** Milliseconds between two words, by model. */
export const OFFLINE_MODELS: Readonly<Record<string, number>> = { demo: 12, instant: 0 };

export function createOfflineModel(modelId: string, pauseMs: number): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('the offline model only streams')),
    doStream(options) {
      const reply = composeReply(options.prompt, options.tools ?? []);
      const parts = toParts(reply, modelId, countUsage(options, reply));
      return Promise.resolve({ stream: paceParts(parts, pauseMs, options.abortSignal) });
    },
  };
}

function toParts(
  reply: OfflineReply,
  modelId: string,
  usage: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['usage'],
): LanguageModelV4StreamPart[] {
  const words = reply.text.match(/\s*\S+/g) ?? [];
  const unified = reply.calls.length > 0 ? 'tool-calls' : 'stop';
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', modelId },
    { type: 'text-start', id: 'text' },
    ...words.map((delta) => ({ type: 'text-delta' as const, id: 'text', delta })),
    { type: 'text-end', id: 'text' },
    ...reply.calls.map((call) => ({ type: 'tool-call' as const, ...call })),
    { type: 'finish', finishReason: { unified, raw: unified }, usage },
  ];
}

/** Parts as they are pulled, a pause before each piece of text; an abort fails the stream as a fetch would. */
function paceParts(
  parts: readonly LanguageModelV4StreamPart[],
  pauseMs: number,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      const part = parts[next++];
      if (part?.type === 'text-delta' && pauseMs > 0) await pause(pauseMs, signal);
      if (signal?.aborted) {
        controller.error(signal.reason);
        return;
      }
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

/** Ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = () => resolve();
  signal?.addEventListener('abort', wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', wake);
}

/** Estimates, as `estimateTokens` says: there is no tokenizer here. */
function countUsage(options: LanguageModelV4CallOptions, reply: OfflineReply) {
  const tools = (options.tools ?? []).map((tool) => JSON.stringify(tool)).join('');
  const input = options.prompt.reduce((sum, message) => sum + countMessage(message), estimateTokens(tools));
  const calls = reply.calls.reduce((sum, call) => sum + estimateTokens(call.toolName + call.input), 0);
  const output = estimateTokens(reply.text) + calls;
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function countMessage(message: LanguageModelV4Message): number {
  if (message.role === 'system') return estimateTokens(message.content);
  let tokens = 0;
  for (const part of message.content) {
    if (part.type === 'text' || part.type === 'reasoning') tokens += estimateTokens(part.text);
    else if (part.type === 'tool-call') tokens += estimateTokens(part.toolName + JSON.stringify(part.input));
    else if (part.type === 'tool-result') tokens += estimateTokens(JSON.stringify(part.output));
  }
  return tokens;
}
