/**
 * `replay/<name>`: a model that serves what another one answered, by turn, step and attempt, whatever it is asked. What
 * the recording does not hold is an error; nothing is made up.
 */
import type {
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { PerchError, recordingExhausted, recordingMissing, recordingUnbound } from '../errors.ts';
import type { AssistantBlock, Failure, Usage } from '../transcript/events.ts';
import type { ProviderDefinition } from './providers.ts';
import type { RecordedRequest, Recording, RecordingSource } from './recording.ts';
import type { ModelAnswer, RequestPlace } from './types.ts';

const PROVIDER = 'replay';
/** Characters of a delta: an answer comes in several, as it did. */
const DELTA_CHARACTERS = 24;

/** The provider of recordings. Its models take any content, for they look at none. */
export function replay(source: RecordingSource): ProviderDefinition {
  return {
    name: PROVIDER,
    create: () => ({
      metaKey: PROVIDER,
      marksPlace: true,
      accepts: () => true,
      async model(name) {
        const recording = await source.read(name);
        if (recording === null) {
          throw recordingMissing(`There is no recording ${JSON.stringify(name)}.`, { recording: name });
        }
        return createReplayModel(name, recording);
      },
    }),
  };
}

/** `onStopped` is called when all that came of a request was served which was stopped: nothing more will come. */
export function createReplayModel(
  name: string,
  recording: Recording,
  onStopped: (place: RequestPlace) => void = () => undefined,
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: PROVIDER,
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('a recording only streams')),
    async doStream({ providerOptions, abortSignal }) {
      const place = readPlace(providerOptions);
      const request = findRequest(name, recording, place);
      if (request.kind === 'failure' && !request.began) throw toError(request.error);
      return { stream: streamParts(request, name, abortSignal, () => onStopped(place)) };
    },
  };
}

const marked = z.object({
  perch: z.object({ turn: z.number(), step: z.number(), attempt: z.number() }),
});

function readPlace(providerOptions: unknown): RequestPlace {
  const parsed = marked.safeParse(providerOptions);
  if (!parsed.success) throw new Error('a recording is served by place, and the request names none');
  return parsed.data.perch;
}

function findRequest(name: string, recording: Recording, place: RequestPlace): RecordedRequest {
  const { turn, step, attempt } = place;
  const facts = { recording: name, turn, step, attempt };
  const where = `turn ${turn}, step ${step}, attempt ${attempt}`;
  const request = recording.find(place);
  if (request === null) throw recordingExhausted(`The recording has no request of ${where}.`, facts);
  const [call] = request.kind === 'answer' ? recording.findUnbound(place, request.answer) : [];
  if (call === undefined) return request;
  throw recordingUnbound(`The answer of ${where} calls ${call}, of which the recording has no result.`, {
    ...facts,
    call,
  });
}

/** The failure as the loop met it: the same code and facts, a Retry-After among them. */
function toError({ code, message, facts = {} }: Failure): PerchError {
  const known = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
  return new PerchError({
    code,
    status: 502,
    title: 'A recorded failure',
    detail: message,
    facts: known.catch({}).parse(facts),
  });
}

/** Parts as they are pulled. A stopped request stays open behind its last part, until it is aborted. */
function streamParts(
  request: RecordedRequest,
  name: string,
  signal: AbortSignal | undefined,
  onEnd: () => void,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = toParts(request, name);
  let next = 0;
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        const part = parts[next++];
        if (part !== undefined) controller.enqueue(part);
        else if (request.kind === 'answer') controller.close();
        else if (request.kind === 'failure') controller.error(toError(request.error));
        else {
          onEnd();
          await untilFired(signal);
          controller.error(signal?.reason);
        }
      },
    },
    { highWaterMark: 0 },
  );
}

function untilFired(signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal?.aborted) resolve();
  else signal?.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

function toParts(request: RecordedRequest, name: string): LanguageModelV4StreamPart[] {
  const answer = request.kind === 'failure' ? null : request.answer;
  return [
    { type: 'stream-start', warnings: [] },
    // What had come of an answer that failed is not in the log: only that something had.
    ...(request.kind === 'stopped' && answer === null ? [] : [toMetadata(answer?.model ?? name)]),
    ...(answer?.content ?? []).flatMap(toBlockParts),
    ...(answer ? toFinish(answer, request.kind === 'answer') : []),
  ];
}

function toMetadata(modelId: string): LanguageModelV4StreamPart {
  return { type: 'response-metadata', modelId };
}

function toBlockParts(block: AssistantBlock, index: number): LanguageModelV4StreamPart[] {
  const meta = toMeta(block.meta);
  if (block.type === 'tool-call') {
    const input = block.malformed ?? JSON.stringify(block.input);
    return [{ type: 'tool-call', toolCallId: block.id, toolName: block.name, input, ...meta }];
  }
  const { type, text } = block;
  const id = `${type}-${index}`;
  return [
    { type: `${type}-start`, id, ...meta },
    ...splitText(text).map((delta) => ({ type: `${type}-delta` as const, id, delta })),
    { type: `${type}-end`, id },
  ];
}

/** At the ends of words where there are any; never inside a character. */
function splitText(text: string): string[] {
  return (
    text.match(
      new RegExp(`[\\s\\S]{1,${DELTA_CHARACTERS}}(?=\\s|$)|[\\s\\S]{1,${DELTA_CHARACTERS}}`, 'gu'),
    ) ?? []
  );
}

function toMeta(meta: AssistantBlock['meta']): { providerMetadata?: SharedV4ProviderMetadata } {
  if (meta === undefined) return {};
  const parsed = z.record(z.string(), z.record(z.string(), z.json())).safeParse(meta);
  return parsed.success ? { providerMetadata: parsed.data } : {};
}

const finishReason = z.enum([
  'stop',
  'length',
  'content-filter',
  'tool-calls',
  'error',
  'interrupted',
  'other',
]);

/** Of an answer that was stopped, only where its usage had been told. */
function toFinish({ finish, usage }: ModelAnswer, isComplete: boolean): LanguageModelV4StreamPart[] {
  if (!isComplete && usage.input + usage.output === 0) return [];
  const unified = finishReason.catch('other').parse(finish);
  return [{ type: 'finish', finishReason: { unified, raw: finish }, usage: toUsage(usage) }];
}

function toUsage({ input, input_cached, input_cache_write, output, reasoning }: Usage): LanguageModelV4Usage {
  return {
    inputTokens: {
      total: input,
      noCache: Math.max(0, input - input_cached - input_cache_write),
      cacheRead: input_cached,
      cacheWrite: input_cache_write,
    },
    outputTokens: { total: output, text: Math.max(0, output - reasoning), reasoning },
  };
}
