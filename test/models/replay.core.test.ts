import { describe, expect, it } from 'vitest';
import {
  askModel,
  createModelResolver,
  createPromptBuilder,
  type Delta,
  type ResolvedModel,
  recordModels,
  replay,
} from '../../durable/models/index.ts';
import type { RequestPlace } from '../../durable/models/types.ts';
import {
  type EventBody,
  eventBody,
  type LogEvent,
  NO_USAGE,
  type Seq,
} from '../../durable/transcript/events.ts';
import { READ } from './stand-in.ts';
import { quietModel } from './surface.ts';

function log(...bodies: EventBody[]): LogEvent[] {
  return bodies.map((body, i) => ({ ...eventBody.parse(body), seq: (i + 1) as Seq, at: i }));
}

const USAGE = { input: 20, input_cached: 5, input_cache_write: 3, output: 9, reasoning: 4 };
const asked = (attempt: number, step = 1): EventBody => ({
  type: 'request/attempt',
  turn: 1,
  step,
  attempt,
  digest: '',
});
type Answer = Extract<EventBody, { type: 'assistant/message' }>;
const answered = (content: Answer['content'], more: Partial<Answer> = {}): EventBody => ({
  type: 'assistant/message',
  turn: 1,
  step: 1,
  attempt: 1,
  content,
  finish: 'stop',
  usage: USAGE,
  model: 'the-model-that-answered',
  surface: 'append',
  ...more,
});
const settled = (call: string): EventBody => ({
  type: 'tool/result',
  turn: 1,
  step: 1,
  call,
  name: 'echo',
  content: [{ type: 'text', text: 'x' }],
  surface: 'append',
});
const failed = (attempt: number, began: boolean): EventBody => ({
  type: 'request/failed',
  turn: 1,
  step: 1,
  attempt,
  error: { code: 'model_rate_limited', message: 'slow down', facts: { status: 429, retry_after_ms: 1_500 } },
  began,
  retry_at: 9,
});
const ended = (reason: Extract<EventBody, { type: 'turn/end' }>['reason']): EventBody => ({
  type: 'turn/end',
  turn: 1,
  steps: 1,
  reason,
  usage: NO_USAGE,
});

/** Asks the model of this recording at a place, as the loop does. */
async function ask(
  events: LogEvent[],
  place: Partial<RequestPlace> = {},
  signal = new AbortController().signal,
) {
  const resolve = createModelResolver([replay({ read: () => recordModels(events) })], {});
  const model = await resolve('replay', 'a-session');
  const deltas: Delta[] = [];
  let began = false;
  const call = createPromptBuilder(model, () => new Uint8Array()).toCall({
    system: 'whatever',
    tools: [],
    options: { temperature: 1 },
    place: { turn: 1, step: 1, attempt: 1, ...place },
  });
  const outcome = await askModel(model, call, {
    ...READ,
    signal,
    onDelta: (delta) => deltas.push(delta),
    onBegin: () => {
      began = true;
    },
  }).catch((error: unknown) => ({ kind: 'failed' as const, error }));
  return { outcome, deltas, began: () => began };
}

describe('a recorded answer', () => {
  const content: Answer['content'] = [
    { type: 'reasoning', text: 'Think about it first.', meta: { anthropic: { signature: 'signed' } } },
    { type: 'text', text: 'Words that are long enough for several pieces, and 👩‍🚀 one more sentence.' },
    { type: 'tool-call', id: 'call_7', name: 'echo', input: { text: 'x' }, meta: { openai: { item: 'i' } } },
    { type: 'tool-call', id: 'call_8', name: 'echo', input: {}, malformed: '{"text": "cut' },
  ];
  const events = log(
    asked(1),
    answered(content, { finish: 'tool-calls' }),
    settled('call_7'),
    settled('call_8'),
  );

  it('comes back block for block, with its usage, its finish and the model that gave it', async () => {
    const { outcome } = await ask(events);
    expect(outcome).toEqual({
      kind: 'answer',
      answer: { content, finish: 'tool-calls', usage: USAGE, model: 'the-model-that-answered' },
    });
  });

  it('comes in several pieces, which are the whole text', async () => {
    const { deltas } = await ask(events);
    const of = (kind: Delta['kind']) => deltas.filter((delta) => delta.kind === kind).map(({ text }) => text);
    expect(of('text').length).toBeGreaterThan(2);
    expect(of('text').join('')).toBe(content[1]?.type === 'text' ? content[1].text : '');
    expect(of('reasoning').join('')).toBe('Think about it first.');
  });

  it('is refused where the recording has no result of one of its calls', async () => {
    const { outcome } = await ask(events.slice(0, 3));
    expect(outcome).toMatchObject({
      error: { data: { code: 'recording_unbound', facts: { call: 'call_8' } } },
    });
  });
});

it('is exhausted at every place that the session did not come to', async () => {
  const events = log(asked(1), answered([{ type: 'text', text: 'hi' }]));
  for (const place of [{ turn: 2 }, { step: 2 }, { attempt: 2 }]) {
    const { outcome } = await ask(events, place);
    expect(outcome).toMatchObject({
      error: { data: { code: 'recording_exhausted', facts: { recording: 'a-session', ...place } } },
    });
  }
});

it('is missing under a name that nobody recorded', async () => {
  const resolve = createModelResolver([replay({ read: async () => null })], {});
  await expect(resolve('replay', 'nobody')).rejects.toMatchObject({
    data: { code: 'recording_missing', facts: { recording: 'nobody' } },
  });
});

it.each([false, true])('fails as it failed, with its Retry-After; began: %s', async (hadBegun) => {
  const { outcome, began } = await ask(log(asked(1), failed(1, hadBegun)));
  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { data: { code: 'model_rate_limited', detail: 'slow down', facts: { retry_after_ms: 1_500 } } },
  });
  expect(began()).toBe(hadBegun);
});

it('leaves out what a restart cut off, and numbers the rest of the step without it', async () => {
  const events = log(
    asked(1),
    asked(2),
    failed(2, false),
    asked(3),
    asked(4),
    answered([{ type: 'text', text: 'hi' }]),
  );
  expect((await ask(events, { attempt: 1 })).outcome.kind).toBe('failed');
  expect((await ask(events, { attempt: 2 })).outcome.kind).toBe('answer');
  expect((await ask(events, { attempt: 3 })).outcome).toMatchObject({
    error: { data: { code: 'recording_exhausted' } },
  });
});

it('stays open behind what came of an answer that was stopped, until it is stopped again', async () => {
  const partial = answered([{ type: 'text', text: 'one two' }], {
    finish: 'aborted',
    usage: NO_USAGE,
    interrupted: true,
  });
  for (const events of [
    log(asked(1), partial, ended({ kind: 'aborted', by: 'k' })),
    log(asked(1), ended({ kind: 'aborted', by: 'k' })),
  ]) {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    const { outcome } = await ask(events, {}, stop.signal);
    const content = events.length === 3 ? [{ type: 'text', text: 'one two' }] : [];
    expect(outcome).toMatchObject({ kind: 'aborted', partial: { content, finish: 'aborted' } });
  }
});

it('takes the failure of a log from before there were failures from the end of its turn', async () => {
  const error = { code: 'model_bad_request', message: 'no' };
  const { outcome } = await ask(log(asked(1), ended({ kind: 'error', error })));
  expect(outcome).toMatchObject({ error: { data: { code: 'model_bad_request' } } });
});

it('is told its place, and no other model is', () => {
  const place = { turn: 3, step: 2, attempt: 1 };
  const options = { providerOptions: { openai: { user: 'u' } } };
  const call = (model: ResolvedModel) =>
    createPromptBuilder(model, () => new Uint8Array()).toCall({ system: 's', tools: [], options, place });
  expect(call(quietModel()).providerOptions).toEqual(options.providerOptions);
  expect(call({ ...quietModel(), traits: { metaKey: 'replay', marksPlace: true } }).providerOptions).toEqual({
    openai: { user: 'u' },
    perch: place,
  });
});
