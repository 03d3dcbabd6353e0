import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { askModel, type Delta, type ReadOptions, type ResolvedModel } from '../../durable/models/index.ts';
import { READ } from './stand-in.ts';
import { quietModel } from './surface.ts';

const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 10, noCache: 3, cacheRead: 5, cacheWrite: 2 },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
};

/** A model whose stream is these parts; it stays open after them where `open`. */
function scripted(
  parts: LanguageModelV4StreamPart[],
  open = false,
): ResolvedModel & { cancelled: () => boolean } {
  let cancelled = false;
  const model = quietModel();
  const stream = () =>
    new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        if (!open) controller.close();
      },
      cancel() {
        cancelled = true;
      },
    });
  return {
    ...model,
    adapter: { ...model.adapter, doStream: () => Promise.resolve({ stream: stream() }) },
    cancelled: () => cancelled,
  };
}

async function read(parts: LanguageModelV4StreamPart[], options: Partial<ReadOptions> = {}) {
  const outcome = await askModel(scripted(parts), { prompt: [] }, { ...READ, ...options });
  if (outcome.kind !== 'answer') throw new Error('it was aborted');
  return outcome.answer;
}

const call = (toolCallId: string, input = '{}'): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'clock',
  input,
});

describe('the blocks of an answer', () => {
  it('are what the deltas of each block spell, in the order in which the blocks began', async () => {
    const answer = await read([
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'No' },
      { type: 'reasoning-delta', id: '0', delta: ', yes' },
      { type: 'text-delta', id: '1', delta: 'on.' },
      { type: 'text-end', id: '1' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Really.' },
      FINISH,
    ]);
    expect(answer.content).toEqual([
      { type: 'reasoning', text: 'Hm, yes' },
      { type: 'text', text: 'Noon.' },
      { type: 'text', text: 'Really.' },
    ]);
  });

  it('keep what the provider wants back: signatures, redacted reasoning, marks on calls', async () => {
    const answer = await read([
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { anthropic: { signature: 's' } } },
      { type: 'reasoning-end', id: '0' },
      {
        type: 'reasoning-start',
        id: '1',
        providerMetadata: { anthropic: { redactedData: 'r', none: undefined } },
      },
      { type: 'reasoning-end', id: '1' },
      {
        type: 'tool-call',
        toolCallId: 'a',
        toolName: 'clock',
        input: '{}',
        providerMetadata: { google: { mark: 1 } },
      },
      FINISH,
    ]);
    expect(answer.content).toEqual([
      { type: 'reasoning', text: 'Hm', meta: { anthropic: { signature: 's' } } },
      { type: 'reasoning', text: '', meta: { anthropic: { redactedData: 'r' } } },
      { type: 'tool-call', id: 'a', name: 'clock', input: {}, meta: { google: { mark: 1 } } },
    ]);
  });

  it('leave out what is empty and what the provider ran itself', async () => {
    const answer = await read([
      { type: 'text-start', id: '0' },
      { type: 'text-end', id: '0' },
      { type: 'reasoning-start', id: '0' },
      { type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'text-delta', id: '1', delta: 'Without a start.' },
      FINISH,
    ]);
    expect(answer.content).toEqual([{ type: 'text', text: 'Without a start.' }]);
  });

  it.each([
    ['{"a": 1}', { input: { a: 1 } }],
    ['', { input: {} }],
    [' ', { input: {} }],
    ['[1]', { input: {}, malformed: '[1]' }],
    ['"a"', { input: {}, malformed: '"a"' }],
    ['null', { input: {}, malformed: 'null' }],
    ['{"a": ', { input: {}, malformed: '{"a": ' }],
  ])('read the input %j of a call', async (input, expected) => {
    const { content } = await read([call('a', input), FINISH]);
    expect(content).toEqual([{ type: 'tool-call', id: 'a', name: 'clock', ...expected }]);
  });

  it('give each call its own id, the same each time', async () => {
    const parts = [call('x'), call('x'), call(''), call('x_2'), call(' '), FINISH];
    const ids = async () =>
      (await read(parts)).content.map((block) => block.type === 'tool-call' && block.id);
    expect(await ids()).toEqual(['x', 'x_2', 'call_3', 'x_2_2', 'call_5']);
    expect(await ids()).toEqual(await ids());
  });
});

it('usage that is not told is 0, and the model is the one that answered, else the one asked', async () => {
  const text: LanguageModelV4StreamPart = { type: 'text-delta', id: '0', delta: 'x' };
  expect(await read([text, FINISH])).toMatchObject({
    usage: { input: 10, input_cached: 5, input_cache_write: 2, output: 0, reasoning: 0 },
    model: 'm',
    finish: 'stop',
  });
  const answer = await read([{ type: 'response-metadata', modelId: 'm-2026' }, text, FINISH]);
  expect(answer.model).toBe('m-2026');
});

it('deltas are told as they come, each with its kind', async () => {
  const deltas: Delta[] = [];
  await read(
    [
      { type: 'reasoning-delta', id: '0', delta: 'a' },
      { type: 'text-delta', id: '1', delta: 'b' },
      { type: 'text-delta', id: '1', delta: '' },
      { type: 'text-delta', id: '1', delta: 'c' },
      FINISH,
    ],
    { onDelta: (delta) => deltas.push(delta) },
  );
  expect(deltas).toEqual([
    { kind: 'reasoning', text: 'a' },
    { kind: 'text', text: 'b' },
    { kind: 'text', text: 'c' },
  ]);
});

it('an error part ends the reading, closes the stream, and commits nothing', async () => {
  const model = scripted(
    [{ type: 'text-delta', id: '0', delta: 'x' }, { type: 'error', error: { message: 'm' } }, FINISH],
    true,
  );
  await expect(askModel(model, { prompt: [] }, READ)).rejects.toMatchObject({
    data: { code: 'model_unavailable' },
  });
  expect(model.cancelled()).toBe(true);
});

it('a listener that throws fails the request with its own error and closes the stream', async () => {
  const model = scripted([{ type: 'text-delta', id: '0', delta: 'x' }, FINISH], true);
  const full = new TypeError('storage is full');
  const onDelta = () => {
    throw full;
  };
  await expect(askModel(model, { prompt: [] }, { ...READ, onDelta })).rejects.toBe(full);
  expect(model.cancelled()).toBe(true);
});

it('a stall is found with a handful of timers, however many parts came', async () => {
  const parts = Array.from({ length: 500 }, () => ({ type: 'text-delta' as const, id: '0', delta: 'x' }));
  const model = scripted(parts, true);
  const waits: number[] = [];
  const wait = (ms: number) => {
    waits.push(ms);
    return {
      done: Promise.resolve().then(() => new Promise<void>((resolve) => setImmediate(resolve))),
      cancel: () => undefined,
    };
  };
  const failure = askModel(model, { prompt: [] }, { ...READ, wait, stallMs: 40_000 });
  await expect(failure).rejects.toMatchObject({
    data: { code: 'model_stalled', facts: { stall_ms: 40_000 } },
  });
  expect(waits.length).toBeLessThanOrEqual(6);
  expect(waits.every((ms) => ms === 10_000)).toBe(true);
  expect(model.cancelled()).toBe(true);
});

it('an adapter that ignores its signal is left behind', async () => {
  const stop = new AbortController();
  const model = quietModel();
  const deaf = {
    ...model,
    adapter: { ...model.adapter, doStream: () => new Promise<never>(() => undefined) },
  };
  const outcome = askModel(deaf, { prompt: [] }, { ...READ, signal: stop.signal });
  stop.abort();
  expect(await outcome).toMatchObject({ kind: 'aborted', partial: { content: [], finish: 'aborted' } });
});

it('a request that was aborted before it began is not made', async () => {
  const model = quietModel();
  const never = {
    ...model,
    adapter: { ...model.adapter, doStream: () => Promise.reject(new Error('it was made')) },
  };
  expect(await askModel(never, { prompt: [] }, { ...READ, signal: AbortSignal.abort() })).toMatchObject({
    kind: 'aborted',
  });
});
