/**
 * A model's stream as one answer. The stream is watched: no part for `stallMs` gives it up, and an abort stops it
 * and keeps what came. A stream that fails, is cut, refuses or says nothing is an error, so that a provider's
 * failure commits no assistant content (DESIGN section 4).
 */
import {
  InvalidResponseDataError,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  type LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import {
  modelEmptyAnswer,
  modelRefused,
  modelResponseInvalid,
  modelStalled,
  modelStreamCut,
  modelUnavailable,
  type PerchError,
} from '../errors.ts';
import type { Wait } from '../time-limit.ts';
import { classifyModelError, scrubText } from './classify.ts';
import { type Collector, createCollector } from './collect.ts';
import type { CallOptions, Delta, ModelAnswer, ResolvedModel } from './types.ts';
import { startWatch } from './watch.ts';

const EVENT_STREAM = 'text/event-stream';

export interface ReadOptions {
  /** Cancels the request. */
  signal: AbortSignal;
  /** Milliseconds without a part of the stream after which it is given up (found out up to a quarter later). */
  stallMs: number;
  wait: Wait;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called for each piece of text or reasoning, in order. */
  onDelta: (delta: Delta) => void;
  /** Called once, when the first piece of an answer comes: from then on the provider may bill it. */
  onBegin?: () => void;
}

/** An answer, or what there was of it when it was aborted (`finish` is then `aborted`; unfinished calls are left out). */
export type AnswerOutcome =
  | { kind: 'answer'; answer: ModelAnswer }
  | { kind: 'aborted'; partial: ModelAnswer };

/** Asks a model and reads its answer. Rejects with a `PerchError` of the group *Models* when there is none. */
export async function askModel(
  model: ResolvedModel,
  call: CallOptions,
  options: ReadOptions,
): Promise<AnswerOutcome> {
  const collector = createCollector(model.model, options.onDelta);
  if (options.signal.aborted) return toAborted(collector);
  const stop = new AbortController();
  const watch = startWatch(options, () => stop.abort());
  try {
    const reading = await readParts(model, { ...call, abortSignal: stop.signal }, stop.signal, (part) => {
      watch.touch();
      const { began } = collector;
      collector.add(part);
      if (!began && collector.began) options.onBegin?.();
    });
    if (options.signal.aborted) return toAborted(collector);
    if (watch.stalled()) throw toStalled(model, options.stallMs);
    if (reading.kind === 'ended') {
      return { kind: 'answer', answer: finishAnswer(collector, model, reading.headers) };
    }
    if (isEndWithoutFinish(reading.error)) throw toUnfinished(collector, model, reading.headers);
    throw classifyModelError(reading.error, {
      provider: model.provider,
      now: options.now(),
      redact: model.redact,
    });
  } finally {
    watch.end();
  }
}

type AnswerHeaders = Record<string, string | undefined>;
type Reading =
  | { kind: 'ended'; headers: AnswerHeaders }
  | { kind: 'failed'; headers: AnswerHeaders; error: unknown };

/** What the adapter and its stream throw is `failed`; what `take` throws is the caller's own and goes through. */
async function readParts(
  model: ResolvedModel,
  call: CallOptions,
  stop: AbortSignal,
  take: (part: LanguageModelV4StreamPart) => void,
): Promise<Reading> {
  let opened: LanguageModelV4StreamResult | null;
  try {
    opened = await openStream(model, call, stop);
  } catch (error) {
    return { kind: 'failed', headers: {}, error };
  }
  if (opened === null) return { kind: 'ended', headers: {} };
  const headers = opened.response?.headers ?? {};
  const reader = opened.stream.getReader();
  // Cancelling ends the pending read, so that no read has to race with the stop.
  const cancel = () => void reader.cancel().catch(() => 'the stream has failed by itself');
  stop.addEventListener('abort', cancel, { once: true });
  if (stop.aborted) cancel();
  try {
    for (;;) {
      const next = await reader.read().catch((error: unknown) => ({ failed: error }));
      if ('failed' in next) return { kind: 'failed', headers, error: next.failed };
      if (next.done) return { kind: 'ended', headers };
      if (next.value.type === 'error') return { kind: 'failed', headers, error: next.value.error };
      take(next.value);
    }
  } finally {
    stop.removeEventListener('abort', cancel);
    cancel();
  }
}

/** Opens the stream; null where it was stopped before. An adapter that ignores its signal is left behind. */
async function openStream(
  model: ResolvedModel,
  call: CallOptions,
  stop: AbortSignal,
): Promise<LanguageModelV4StreamResult | null> {
  const opening = Promise.resolve(model.adapter.doStream(call));
  const stopped = Promise.withResolvers<null>();
  const leave = () => stopped.resolve(null);
  stop.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([opening, stopped.promise]);
  } finally {
    stop.removeEventListener('abort', leave);
    if (stop.aborted) void opening.then(closeStream, () => 'the stop is what failed it');
  }
}

async function closeStream(result: LanguageModelV4StreamResult): Promise<void> {
  await result.stream.cancel().catch(() => 'it is closed already');
}

function finishAnswer(collector: Collector, model: ResolvedModel, headers: AnswerHeaders): ModelAnswer {
  const { provider } = model;
  const facts = { provider };
  const { finish } = collector;
  if (finish === null || finish.unified === 'interrupted' || finish.raw === 'stream-truncated') {
    throw toUnfinished(collector, model, headers);
  }
  if (finish.unified === 'content-filter') throw toRefused(finish, collector, model);
  if (finish.unified === 'error')
    throw modelUnavailable(`${provider} ended the answer with an error.`, facts);
  const answer = collector.toAnswer(finish.unified);
  if (!answer.content.some(isAnswer)) {
    throw modelEmptyAnswer(`${provider} answered with neither text nor a tool call.`, {
      ...facts,
      finish: finish.unified,
    });
  }
  return answer;
}

/** The limit on output tokens may leave nothing but reasoning: still empty, and `finish` in the facts says why. */
function isAnswer(block: ModelAnswer['content'][number]): boolean {
  return block.type === 'tool-call' || (block.type === 'text' && block.text.trim() !== '');
}

function toRefused(
  finish: LanguageModelV4FinishReason,
  collector: Collector,
  model: ResolvedModel,
): PerchError {
  const why = collector.refusal();
  const clean = scrubText(model.redact(why)).slice(0, 500);
  return modelRefused(
    clean === '' ? `${model.provider} declined to answer.` : `${model.provider} declined: ${clean}`,
    {
      provider: model.provider,
      ...(finish.raw === undefined ? {} : { finish: finish.raw }),
    },
  );
}

/** A stream without an end is cut, unless nothing of the protocol arrived and it says itself that it is a page. */
function toUnfinished(collector: Collector, model: ResolvedModel, headers: AnswerHeaders): PerchError {
  const { provider } = model;
  const type = readMediaType(headers);
  if (collector.began || type === EVENT_STREAM) {
    return modelStreamCut(`The answer of ${provider} ended before it was complete.`, { provider });
  }
  return modelResponseInvalid(`${provider} answered with ${type}, which is no event stream.`, {
    provider,
    content_type: type,
  });
}

function readMediaType(headers: AnswerHeaders): string {
  const [type = ''] = (headers['content-type'] ?? EVENT_STREAM).split(';', 1);
  return type.trim().slice(0, 80);
}

/** The OpenAI-compatible adapter's word for a stream without `finish_reason`: invalid data, but of nothing. */
function isEndWithoutFinish(error: unknown): boolean {
  return InvalidResponseDataError.isInstance(error) && error.data === undefined;
}

function toStalled(model: ResolvedModel, stallMs: number): PerchError {
  return modelStalled(`${model.provider} sent nothing for ${stallMs} ms.`, {
    provider: model.provider,
    stall_ms: stallMs,
  });
}

function toAborted(collector: Collector): AnswerOutcome {
  return { kind: 'aborted', partial: collector.toAnswer('aborted') };
}
