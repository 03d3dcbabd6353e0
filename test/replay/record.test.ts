/**
 * The recordings that `replay.core.test.ts` replays, made by the real worker. The files are what today's worker logs:
 * where this fails, read what changed, and write them anew with `npx vitest run --project worker test/replay -u`.
 */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { fork } from '../fork/forks.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import type { ScriptedResponse } from '../support/model-script.ts';
import { createPerch, models, type Perch, sessionStub } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';
import { stabilise } from './stable-export.ts';

beforeAll(async () => {
  // As in `fixtures/skills`.
  await publishSkills({ guide: '# Guide\n\n1. Say what you do.\n2. Do it.\n' });
});
afterEach(clearFaults);

async function expectRecorded(perch: Perch, session: string, name: string): Promise<void> {
  const response = await perch.request('GET', `/v1/sessions/${session}/export?include=blobs`);
  const text = new TextDecoder().decode(await response.arrayBuffer());
  await expect(stabilise(text)).toMatchFileSnapshot(`fixtures/${name}.jsonl`);
}

/** A session whose model answers so. */
async function openScripted(perch: Perch, name: string, responses: ScriptedResponse[]): Promise<string> {
  const model = `recorded-${name}`;
  await models.script(model, responses);
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

const view = z.looseObject({ status: z.string(), queued: z.number() });

async function untilIdle(perch: Perch, session: string): Promise<void> {
  const read = async () =>
    view.parse(await (await perch.request('GET', `/v1/sessions/${session}`)).json()).status;
  await expect.poll(read, { timeout: 5_000 }).toBe('idle');
}

/** Lets `work` happen while the object is held at the point for the first time. */
async function atPoint(
  point: string,
  start: () => Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<void> {
  let held = false;
  let go = false;
  planFaults(async (passed) => {
    if (passed !== point || held) return;
    held = true;
    while (!go) await scheduler.wait(2);
  });
  await start();
  await expect.poll(() => held).toBe(true);
  await work();
  go = true;
}

async function post(perch: Perch, session: string, body: Record<string, unknown>): Promise<string> {
  const response = await perch.post(session, body);
  expect(response.status).toBe(202);
  return z.looseObject({ message: z.string() }).parse(await response.json()).message;
}

/** Reads a stream of events until its texts have this word. */
async function readUntil(response: Response, word: string): Promise<void> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk);
    if (text.includes(word)) return;
  }
  throw new Error(`the stream ended without ${word}`);
}

it('records text with reasoning, in two turns', async () => {
  const perch = await createPerch();
  const model = 'recorded-text';
  await models.script(model, [
    { reasoning: 'They greet me.', text: 'Good day. What can I do for you today? I am listening.' },
    { text: 'Done.' },
  ]);
  const session = await perch.open({
    agent: 'claude',
    model: `stand-in-anthropic/${model}`,
    metadata: { case: 'text' },
  });
  await perch.ask(session, 'hello');
  await perch.ask(session, 'thanks');
  await expectRecorded(perch, session, 'text');
});

it('records calls: side by side, failing, unknown, malformed, and of the skills', async () => {
  const perch = await createPerch();
  const session = await openScripted(perch, 'tools', [
    {
      text: 'Let me see.',
      tool_calls: [
        { id: 'a', name: 'echo', arguments: '{"text":"1"}' },
        { id: 'b', name: 'echo', arguments: '{"text":"2"}' },
        { id: 'c', name: 'effect', arguments: '{"text":"recorded"}' },
        { id: 'd', name: 'broken', arguments: '{}' },
        { id: 'e', name: 'slow', arguments: '{}' },
        { id: 'f', name: 'nobodys_tool', arguments: '{}' },
        { id: 'g', name: 'echo', arguments: '{"text": "cut' },
      ],
    },
    { tool_calls: [{ id: 'h', name: 'skill', arguments: '{"name":"guide"}' }] },
    { text: 'That is all.' },
  ]);
  await perch.ask(session, 'try everything');
  await expectRecorded(perch, session, 'tools');
});

it('records a steer, an inject and a prompt that came in the middle of a turn', async () => {
  const perch = await createPerch();
  const session = await openScripted(perch, 'steering', [
    { tool_calls: [{ id: 'a', name: 'echo', arguments: '{"text":"1"}' }] },
    { text: 'I heard you.' },
    { text: 'The next.' },
  ]);
  await post(perch, session, { text: 'before all', delivery: 'inject' });
  await atPoint(
    'tool.started',
    () => post(perch, session, { text: 'begin' }),
    async () => {
      await post(perch, session, { text: 'another way, please', delivery: 'steer' });
      await post(perch, session, { text: 'by the way', delivery: 'inject' });
      await post(perch, session, { text: 'afterwards' });
    },
  );
  await untilIdle(perch, session);
  await expectRecorded(perch, session, 'steering');
});

it('records failures: one that passes, after which the model is asked again, and one that ends the turn', async () => {
  const perch = await createPerch();
  const session = await openScripted(perch, 'failures', [
    { status: 429, headers: { 'retry-after-ms': '20' }, body: '{"error":{"message":"slow down"}}' },
    { text: 'half an answer', cut_after: 3 },
    { text: 'a whole answer' },
    { status: 400, body: '{"error":{"message":"no such thing"}}' },
    { text: 'better' },
  ]);
  for (const text of ['one', 'two', 'three']) await perch.ask(session, text);
  await expectRecorded(perch, session, 'failures');
});

it('records cancels: of an answer, of a call, between calls, of a preparation, and with the queue', async () => {
  const perch = await createPerch();
  const session = await openScripted(perch, 'cancels', [
    { text: 'one two three four five', deltas: 5, hang_after: 4 },
    {
      tool_calls: [
        { id: 'a', name: 'effect', arguments: '{"text":"x"}' },
        { id: 'b', name: 'effect', arguments: '{"text":"y"}' },
      ],
    },
    { tool_calls: [{ id: 'c', name: 'echo', arguments: '{"text":"z"}' }] },
    { text: 'after all that' },
  ]);
  const cancel = (body: object = {}) => perch.request('POST', `/v1/sessions/${session}/cancel`, body);
  const stream = await perch.request(
    'POST',
    `/v1/sessions/${session}/messages`,
    { text: 'stream' },
    { accept: 'text/event-stream' },
  );
  // What came before the silence is with the client: the last piece of it, which no piece cuts.
  await readUntil(stream, 'ree f');
  await cancel();
  await untilIdle(perch, session);
  await atPoint('tool.settled', () => post(perch, session, { text: 'calls' }), cancel);
  await untilIdle(perch, session);
  await atPoint('answer.committed', () => post(perch, session, { text: 'before a call' }), cancel);
  await untilIdle(perch, session);
  await atPoint('step.lanes', () => post(perch, session, { text: 'never asked' }), cancel);
  await untilIdle(perch, session);
  await atPoint(
    'turn.started',
    () => post(perch, session, { text: 'cleared' }),
    async () => {
      await post(perch, session, { text: 'cleared with it' });
      await cancel({ clear_inbox: true });
    },
  );
  await untilIdle(perch, session);
  await perch.ask(session, 'and now?');
  await expectRecorded(perch, session, 'cancels');
});

it('records skills by gesture, a lane that refuses, bytes, and a queue of which one is discarded', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  await perch.ask(session, '/guide me through it');
  await post(perch, session, { text: 'some forbidden words' });
  await untilIdle(perch, session);
  await post(perch, session, {
    content: [
      { type: 'image', media_type: 'image/png', data: btoa('a picture') },
      { type: 'text', text: 'what is this?' },
    ],
    delivery: 'inject',
  });
  await atPoint(
    'step.entered',
    () => post(perch, session, { text: 'call echo {"text":"q"}' }),
    async () => {
      const message = await post(perch, session, { text: 'not this one' });
      await post(perch, session, { text: '/guide again' });
      await perch.request('DELETE', `/v1/sessions/${session}/messages/${message}`);
    },
  );
  await untilIdle(perch, session);
  await expectRecorded(perch, session, 'gestures');
});

it('records a session that was reset', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  await perch.ask(session, '/guide before');
  await perch.request('POST', `/v1/sessions/${session}/reset`, {});
  await perch.ask(session, 'after');
  await expectRecorded(perch, session, 'reset');
});

it('records a fork inside a turn that has another model, and a fork of it', async () => {
  const perch = await createPerch();
  const parent = await perch.open({ agent: 'plain' });
  await perch.ask(parent, 'call echo {"text":"of the parent"}');
  await post(perch, parent, { text: 'waits', delivery: 'inject' });
  const [end] = await perch.events(parent, 'step/end');
  const child = await fork(perch, parent, { at_seq: end?.seq, model: 'offline/demo' });
  await perch.ask(child.id, 'on another way');
  await expectRecorded(perch, child.id, 'fork');
  const late = await fork(perch, parent);
  await perch.ask(late.id, 'the queue stayed');
  await expectRecorded(perch, late.id, 'fork-late');
});

it('records restarts: in a request, in a call, and of a turn that was cancelled', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  const killAt = async (
    point: string,
    text: string,
    more: () => Promise<unknown> = async () => undefined,
  ) => {
    let held = false;
    planFaults((passed): void | Promise<void> => {
      if (passed !== point || held) return;
      held = true;
      return new Promise<void>(() => undefined);
    });
    await post(perch, session, { text });
    await expect.poll(() => held).toBe(true);
    await more();
    await abortAllDurableObjects();
    clearFaults();
    await runDurableObjectAlarm(sessionStub(perch, session));
    await untilIdle(perch, session);
  };
  await killAt('request.answered', 'asked twice');
  await killAt('tool.started', 'call effect {"text":"unknown"}\ncall echo {"text":"again"}');
  await killAt('tool.started', 'call effect {"text":"cancelled"}', () =>
    perch.request('POST', `/v1/sessions/${session}/cancel`, {}),
  );
  await perch.ask(session, 'still here');
  await expectRecorded(perch, session, 'restarts');
});

it('records budgets, and a turn that could not be prepared', async () => {
  const perch = await createPerch();
  const model = 'recorded-budgets';
  const again = { tool_calls: [{ id: 'x', name: 'echo', arguments: '{"text":"again"}' }] };
  await models.script(model, [again, again, again, again], { repeat: true });
  const session = await perch.open({ agent: 'short', model: `stand-in/${model}` });
  await perch.ask(session, 'loop');
  await expectRecorded(perch, session, 'budget');
  const broken = await perch.open({ agent: 'plain', model: 'keyless/x' });
  await perch.ask(broken, 'no key');
  await expectRecorded(perch, broken, 'no-key');
});
