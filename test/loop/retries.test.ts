/** What passes by itself is asked again inside the step; clients see each failure, and no answer is doubled. */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clearFaults, planFaults } from '../support/faults.ts';
import type { ScriptedResponse } from '../support/model-script.ts';
import { createPerch, models, type SeenEvent, sessionStub, uniqueModel } from '../support/perch.ts';

afterEach(clearFaults);

const attemptEvent = z.looseObject({ at: z.number(), step: z.number(), attempt: z.number() });
const failedEvent = attemptEvent.extend({
  error: z.looseObject({ code: z.string() }),
  began: z.boolean(),
  retry_at: z.number().nullable(),
});

const pick = (events: SeenEvent[], type: string) => events.filter((event) => event.type === type);

const PASSING: Record<string, { response: ScriptedResponse; code: string; began: boolean | null }> = {
  'limits the rate': {
    response: { status: 429, headers: { 'retry-after-ms': '60' }, body: '{}' },
    code: 'model_rate_limited',
    began: false,
  },
  'fails inside': { response: { status: 503, body: 'oops' }, code: 'model_unavailable', began: false },
  'says nothing': { response: { hang: true }, code: 'model_stalled', began: false },
  'stops in the middle': {
    response: { text: 'half of an answer', hang_after: 3 },
    code: 'model_stalled',
    began: true,
  },
  'cuts the stream': {
    response: { text: 'half of an answer', cut_after: 3 },
    code: 'model_stream_cut',
    began: true,
  },
  'breaks the connection': {
    response: { text: 'half of an answer', cut_after: 3, reset: true },
    code: 'model_stream_cut',
    // What came before the reset may be lost with it.
    began: null,
  },
  'answers nothing': { response: { text: '' }, code: 'model_empty_answer', began: null },
};

describe.each(Object.entries(PASSING))('a model that %s', (_, { response, code, began }) => {
  it.each(['stand-in', 'stand-in-anthropic'])('is asked again in the same step (%s)', async (provider) => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [response, { text: 'The whole answer.' }]);
    const session = await perch.open({ agent: 'stand-in', model: `${provider}/${model}` });
    const answer = await perch.ask(session, 'hello');
    expect(answer).toMatchObject({ turn: 1, text: 'The whole answer.', reason: { kind: 'completed' } });
    const events = await perch.events(session);
    const [first, second] = pick(events, 'request/attempt').map((event) => attemptEvent.parse(event));
    const [failed] = pick(events, 'request/failed').map((event) => failedEvent.parse(event));
    expect(failed).toMatchObject({ step: 1, attempt: 1, error: { code } });
    if (began !== null) expect(failed?.began).toBe(began);
    expect(failed?.retry_at).toBeGreaterThanOrEqual(failed?.at ?? Infinity);
    expect(second).toMatchObject({ step: 1, attempt: 2 });
    expect(second?.at).toBeGreaterThanOrEqual(failed?.retry_at ?? Infinity);
    expect(first?.attempt).toBe(1);
    expect(pick(events, 'step/start')).toHaveLength(1);
    expect(
      pick(events, 'user/message').filter(({ message }) => JSON.stringify(message).includes('hello')),
    ).toHaveLength(1);
    expect(pick(events, 'assistant/message')).toMatchObject([{ attempt: 2 }]);
    expect(pick(events, 'turn/end')).toMatchObject([{ receipt: { attempts: 2, restarts: 0 } }]);
    // The same request, byte for byte.
    const [one, two] = await models.requests(model);
    expect(two?.body).toBe(one?.body);
  });
});

it('waits as long as the provider asks', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { status: 429, headers: { 'retry-after-ms': '300' }, body: '{}' },
    { text: 'thanks for waiting' },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.ask(session, 'hello');
  const [failed] = (await perch.events(session, 'request/failed')).map((event) => failedEvent.parse(event));
  const attempts = (await perch.events(session, 'request/attempt')).map((event) => attemptEvent.parse(event));
  expect((failed?.retry_at ?? 0) - (failed?.at ?? 0)).toBeGreaterThanOrEqual(300);
  expect(attempts[1]?.at).toBeGreaterThanOrEqual(failed?.retry_at ?? Infinity);
});

it('gives up after its attempts, and says so in the commit that ends the turn', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ status: 500, body: 'oops' }], { repeat: true });
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'hello');
  expect(answer.reason).toMatchObject({ kind: 'error', error: { code: 'model_unavailable' } });
  expect(await models.requests(model)).toHaveLength(3);
  const events = await perch.events(session);
  const failed = pick(events, 'request/failed').map((event) => failedEvent.parse(event));
  expect(failed.map(({ attempt, retry_at }) => [attempt, retry_at === null])).toEqual([
    [1, false],
    [2, false],
    [3, true],
  ]);
  expect(events.slice(-3).map(({ type }) => type)).toEqual(['request/failed', 'step/end', 'turn/end']);
  expect(events.at(-1)).toMatchObject({ receipt: { attempts: 3, charge: { tokens: 0 } } });
});

it.each([
  [
    'an account without credit',
    { status: 429, body: '{"error":{"message":"no","code":"insufficient_quota"}}' },
    'model_quota_exhausted',
  ],
  ['a wrong key', { status: 401, body: '{"error":{"message":"no"}}' }, 'model_auth_failed'],
  ['a bad request', { status: 400, body: '{"error":{"message":"no"}}' }, 'model_bad_request'],
  [
    'a wait that is too long',
    { status: 429, headers: { 'retry-after': '3600' }, body: '{}' },
    'model_rate_limited',
  ],
] as const)('does not ask again after %s', async (_, response, code) => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [response, { text: 'never said' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  expect((await perch.ask(session, 'hello')).reason).toMatchObject({ kind: 'error', error: { code } });
  expect(await models.requests(model)).toHaveLength(1);
});

it('is cancelled at once while it waits', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { status: 429, headers: { 'retry-after-ms': '900' }, body: '{}' },
    { text: 'never said' },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const asked = perch.ask(session, 'hello');
  await expect.poll(() => perch.events(session, 'request/failed')).toHaveLength(1);
  await perch.request('POST', `/v1/sessions/${session}/cancel`);
  expect((await asked).reason).toMatchObject({ kind: 'aborted' });
  expect(await models.requests(model)).toHaveLength(1);
});

it('keeps the pause when the object restarts in it, and does not ask before its end', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { status: 429, headers: { 'retry-after-ms': '700' }, body: '{}' },
    { text: 'after the restart' },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.post(session, { text: 'hello' });
  await expect.poll(() => perch.events(session, 'request/failed')).toHaveLength(1);
  await abortAllDurableObjects();
  await runDurableObjectAlarm(sessionStub(perch, session));
  await expect.poll(() => perch.events(session, 'turn/end')).toHaveLength(1);
  const [failed] = (await perch.events(session, 'request/failed')).map((event) => failedEvent.parse(event));
  const attempts = (await perch.events(session, 'request/attempt')).map((event) => attemptEvent.parse(event));
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(attempts[1]?.at).toBeGreaterThanOrEqual(failed?.retry_at ?? Infinity);
  expect(await perch.events(session, 'turn/end')).toMatchObject([
    { reason: { kind: 'completed' }, receipt: { restarts: 1, attempts: 2 } },
  ]);
});

it('assembles again where a listener falls back to another model, so that the prompt names the one that reads it', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ status: 500, body: 'oops' }]);
  await models.script(`${model}-fallback`, [{ text: 'from the other one' }]);
  const session = await perch.open({ agent: 'falls-back', model: `stand-in/${model}` });
  expect((await perch.ask(session, 'hello')).text).toBe('from the other one');
  const [request] = await models.requests(`${model}-fallback`);
  expect(request?.body).toContain(`You are ${model}-fallback.`);
  expect(await perch.events(session, 'request/header')).toMatchObject([
    { header: { model } },
    { header: { model: `${model}-fallback` } },
  ]);
});

it('ends a turn that kills its object again and again, and takes the next prompt', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'fine' }], { repeat: true });
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  let poisoned = false;
  planFaults((point): void | Promise<void> => {
    if (point !== 'step.skills') return;
    poisoned = true;
    return new Promise<void>(() => undefined);
  });
  await perch.post(session, { text: 'poison' });
  for (let kills = 0; kills < 9; kills++) {
    await expect.poll(() => poisoned).toBe(true);
    poisoned = false;
    await abortAllDurableObjects();
    await runDurableObjectAlarm(sessionStub(perch, session));
  }
  await expect
    .poll(() => perch.events(session, 'turn/end'))
    .toMatchObject([{ reason: { kind: 'interrupted' }, receipt: { restarts: 9 } }]);
  clearFaults();
  expect(await perch.ask(session, 'and now')).toMatchObject({ turn: 2, text: 'fine' });
});

it('keeps what people saw when the object is killed right after a cancel was acknowledged', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'one two three four five', deltas: 5, hang_after: 4 }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const response = await perch.request(
    'POST',
    `/v1/sessions/${session}/messages`,
    { text: 'hello' },
    { accept: 'text/event-stream' },
  );
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  // Pieces of the text come in frames of their own, cut anywhere.
  const shown = (seen: string) =>
    [...seen.matchAll(/"kind":"text","text":"([^"]*)"/g)].map(([, text]) => text).join('');
  for (let seen = ''; !shown(seen).includes('one two'); ) {
    const part = await reader?.read();
    if (!part || part.done) throw new Error('the stream ended early');
    seen += part.value;
  }
  // The cancel is kept, and the object dies before the turn has ended.
  planFaults((point): void | Promise<void> => {
    if (point === 'request.answered') return new Promise<void>(() => undefined);
  });
  await perch.request('POST', `/v1/sessions/${session}/cancel`);
  await abortAllDurableObjects();
  clearFaults();
  await runDurableObjectAlarm(sessionStub(perch, session));
  await expect.poll(() => perch.events(session, 'turn/end')).toMatchObject([{ reason: { kind: 'aborted' } }]);
  const [message] = await perch.events(session, 'assistant/message');
  expect(message).toMatchObject({ interrupted: true, attempt: 1 });
  expect(JSON.stringify(message)).toContain('one two');
  expect(await models.requests(model)).toHaveLength(1);
  await reader?.cancel();
});
