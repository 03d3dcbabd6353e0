/**
 * A provider whose models answer, call tools, and fail in every way that providers do. What it does with a request
 * follows from the request alone and from how often the same was asked, so that a run repeats.
 */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import type { ProviderDefinition } from '../../durable/models/index.ts';
import { createRandom, type Random } from '../support/random.ts';
import { type Conduct, TOOLS } from './tools.ts';

/** What passes between a life of a session's object and the provider. */
export interface ModelLine {
  /** The request has left the object; `promise` settles when the provider begins to answer. */
  ask: (options: LanguageModelV4CallOptions) => Promise<{ ordinal: number; isCalm: boolean }>;
  /** Resolves after so many milliseconds, unless the object's life ended. */
  wait: (ms: number) => Promise<void>;
}

/** The binding under which an object finds its line. */
export const LINE = 'SIMULATED_LINE';
/** A prompt's text says which operation posted it. */
export const marker = (operation: number): string => `[op ${operation}]`;

/** In the facts that the provider itself keeps: a session must not ask again before. */
export interface Pause {
  until: number;
}

type Plan =
  | { kind: 'answer'; pieces: string[]; gapMs: number; reasoning: boolean; finish: 'stop' | 'length' }
  | { kind: 'calls'; calls: { name: string; conduct: Conduct }[]; gapMs: number; text: boolean }
  | { kind: 'rate-limit'; retryAfterMs: number | null }
  | { kind: 'server'; status: number }
  | { kind: 'stall'; pieces: number }
  | { kind: 'cut'; pieces: number }
  | { kind: 'break'; pieces: number }
  | { kind: 'empty' }
  | { kind: 'unreachable' }
  | { kind: 'refused' }
  | { kind: 'bad-request' };

/** The longest time that a plan stays silent on purpose while it means to answer. */
const GAPS_MS = [0, 0, 5, 20, 60, 250, 1_000];
const WORDS = [
  'stone ',
  'river\n',
  'ash',
  ' — ',
  'éclair ',
  '🜂 ',
  'a',
  'long sentence of several words, ',
  '.',
];

export function planAnswer(
  seed: number,
  options: LanguageModelV4CallOptions,
  ordinal: number,
  isCalm: boolean,
): Plan {
  const { operation, depth } = locate(options.prompt);
  const random = createRandom(hash(seed, operation, depth, ordinal));
  const mayCall = (options.tools?.length ?? 0) > 0 && depth < 4;
  const roll = random.next();
  if (!isCalm && roll < 0.3) return planFailure(random, ordinal);
  if (mayCall && roll > 0.6) return planCalls(random);
  return {
    kind: 'answer',
    pieces: Array.from({ length: 1 + random.below(8) }, () => random.pick(WORDS)).concat('x'),
    gapMs: random.pick(GAPS_MS),
    reasoning: random.next() < 0.2,
    finish: random.next() < 0.05 ? 'length' : 'stop',
  };
}

function planFailure(random: Random, ordinal: number): Plan {
  const pieces = random.below(5);
  // Final ones are rarer, so that most failures are worth asking again.
  const roll = random.below(ordinal > 1 ? 14 : 16);
  if (roll < 3) return { kind: 'rate-limit', retryAfterMs: random.pick([null, 700, 2_000, 9_000, 200_000]) };
  if (roll < 6) return { kind: 'server', status: random.pick([500, 503, 529, 408]) };
  if (roll < 8) return { kind: 'stall', pieces };
  if (roll < 10) return { kind: 'cut', pieces };
  if (roll < 11) return { kind: 'break', pieces };
  if (roll < 12) return { kind: 'empty' };
  if (roll < 14) return { kind: 'unreachable' };
  return roll < 15 ? { kind: 'refused' } : { kind: 'bad-request' };
}

function planCalls(random: Random): Plan {
  const calls = Array.from({ length: 1 + random.below(4) }, () => ({
    name: random.next() < 0.05 ? 'nobody' : random.next() < 0.1 ? 'skill' : random.pick(TOOLS),
    conduct: {
      do: random.pick([
        'answer',
        'answer',
        'answer',
        'throw',
        'throw-late',
        'hang',
        'refuse',
        'at-once',
      ] as const),
      ms: random.pick([0, 2, 40, 800, 5_000]),
    },
  }));
  return { kind: 'calls', calls, gapMs: random.pick([0, 5, 60]), text: random.next() < 0.5 };
}

/** The operation whose prompt is newest, and how many answers came since. */
function locate(prompt: LanguageModelV4Prompt): { operation: number; depth: number } {
  let operation = 0;
  let depth = 0;
  for (const message of prompt) {
    if (message.role === 'assistant') depth++;
    if (message.role !== 'user') continue;
    for (const part of message.content) {
      const found = part.type === 'text' ? /\[op (\d+)\]/.exec(part.text)?.[1] : undefined;
      if (found === undefined) continue;
      operation = Number(found);
      depth = 0;
    }
  }
  return { operation, depth };
}

export function hash(...values: number[]): number {
  let state = 0x811c9dc5;
  for (const value of values) state = Math.imul(state ^ (value >>> 0), 0x01000193) ^ (state >>> 13);
  return state >>> 0;
}

export function createProvider(seed: number): ProviderDefinition {
  return {
    name: 'sim',
    create(env) {
      const line = env[LINE] as ModelLine; // put there by the simulation, which builds the object
      return {
        metaKey: 'sim',
        accepts: () => false,
        model: (id) => createModel(id, line, seed),
      };
    },
  };
}

function createModel(modelId: string, line: ModelLine, seed: number): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'sim',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('this model only streams')),
    async doStream(options) {
      const { ordinal, isCalm } = await line.ask(options);
      const plan = planAnswer(seed, options, ordinal, isCalm);
      failAtOnce(plan);
      const { operation, depth } = locate(options.prompt);
      return { stream: stream(plan, `${operation}.${depth}.${ordinal}`, options, line) };
    },
  };
}

function failAtOnce(plan: Plan): void {
  const base = { url: 'https://models.test', requestBodyValues: {} };
  switch (plan.kind) {
    case 'rate-limit': {
      const { retryAfterMs } = plan;
      const responseHeaders: Record<string, string> =
        retryAfterMs === null ? {} : { 'retry-after': String(retryAfterMs / 1_000) };
      throw new APICallError({ ...base, message: 'slow down', statusCode: 429, responseHeaders });
    }
    case 'server':
      throw new APICallError({ ...base, message: 'out of order', statusCode: plan.status });
    case 'bad-request':
      throw new APICallError({ ...base, message: 'no', statusCode: 400 });
    case 'unreachable':
      throw new TypeError('fetch failed');
    default:
  }
}

function stream(
  plan: Plan,
  id: string,
  options: LanguageModelV4CallOptions,
  line: ModelLine,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = toParts(plan, id, options);
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      const part = parts[next++];
      const isSpoken = part?.type === 'text-delta' || part?.type === 'reasoning-delta';
      if (isSpoken && 'gapMs' in plan && plan.gapMs > 0) await line.wait(plan.gapMs);
      if (options.abortSignal?.aborted) return controller.error(options.abortSignal.reason);
      if (part !== undefined) return controller.enqueue(part);
      if (plan.kind === 'stall') await new Promise<never>(() => undefined);
      if (plan.kind === 'break') return controller.error(new TypeError('network connection lost'));
      return controller.close();
    },
  });
}

function toParts(plan: Plan, id: string, options: LanguageModelV4CallOptions): LanguageModelV4StreamPart[] {
  const start: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }];
  switch (plan.kind) {
    case 'answer':
      return [
        ...start,
        ...(plan.reasoning ? speak('reasoning', ['hm', ' …']) : []),
        ...speak('text', [...plan.pieces, ` ${id}`]),
        finish(plan.finish, options, 40),
      ];
    case 'calls':
      return [
        ...start,
        ...(plan.text ? speak('text', ['I will ', 'look.']) : []),
        ...plan.calls.map(
          ({ name, conduct }, i): LanguageModelV4StreamPart => ({
            type: 'tool-call',
            toolCallId: `${id}.${i}`,
            toolName: name,
            input: JSON.stringify(name === 'skill' ? { name: 'alpha' } : conduct),
          }),
        ),
        finish('tool-calls', options, 30),
      ];
    case 'stall':
    case 'cut':
    case 'break':
      return [...start, ...speak('text', WORDS.slice(0, plan.pieces)).slice(0, -1)];
    case 'empty':
      return [...start, finish('stop', options, 0)];
    case 'refused':
      return [...start, ...speak('text', ['No.']), finish('content-filter', options, 1)];
    default:
      return start;
  }
}

function speak(kind: 'text' | 'reasoning', pieces: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: `${kind}-start`, id: kind },
    ...pieces.map((delta): LanguageModelV4StreamPart => ({ type: `${kind}-delta`, id: kind, delta })),
    { type: `${kind}-end`, id: kind },
  ];
}

function finish(
  unified: 'stop' | 'length' | 'tool-calls' | 'content-filter',
  { prompt }: LanguageModelV4CallOptions,
  output: number,
): LanguageModelV4StreamPart {
  const input = Math.floor(JSON.stringify(prompt).length / 8);
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
  };
}
