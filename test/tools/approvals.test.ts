/** A person decides: the turn waits, sleeps, survives restarts, and goes on with the first decision. */
import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { effects } from '../support/deployment.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';

afterEach(clearFaults);

const approvals = z.object({
  data: z.array(
    z.looseObject({
      approval: z.string(),
      kind: z.string(),
      name: z.string(),
      prompt: z.string(),
      call: z.string(),
    }),
  ),
});

const call = (id: string, name: string, input: object) => ({ id, name, arguments: JSON.stringify(input) });

async function open(perch: Perch, responses: Parameters<typeof models.script>[1]) {
  const model = uniqueModel();
  await models.script(model, responses);
  const session = await perch.open({ agent: 'careful', model: `stand-in/${model}` });
  return { model, session };
}

async function listOf(perch: Perch, session: string) {
  const response = await perch.request('GET', `/v1/sessions/${session}/approvals`);
  return approvals.parse(await response.json()).data;
}

async function untilAsked(perch: Perch, session: string, count = 1) {
  await expect.poll(async () => (await listOf(perch, session)).length).toBe(count);
  return listOf(perch, session);
}

const decide = (perch: Perch, session: string, approval: string, body: object) =>
  perch.request('POST', `/v1/sessions/${session}/approvals/${approval}`, body);

const alarmOf = (perch: Perch, session: string) =>
  runInDurableObject(sessionStub(perch, session), (_, state) => state.storage.getAlarm());

it('asks for all that needs a person before any of the calls runs, and goes on in the model order', async () => {
  const perch = await createPerch();
  const mark = uniqueModel();
  const { model, session } = await open(perch, [
    {
      tool_calls: [
        call('a', 'effect', { text: `danger ${mark}` }),
        call('b', 'echo', { text: 'between' }),
        call('c', 'effect', { text: `danger too ${mark}` }),
      ],
    },
    { text: 'done' },
  ]);
  const asked = perch.ask(session, 'go');
  const [first, second] = await untilAsked(perch, session, 2);
  expect(first).toMatchObject({ kind: 'approval', name: 'effect', prompt: 'It is dangerous.', call: 'a' });
  expect(effects.filter((text) => text.includes(mark))).toEqual([]);
  // The second decision comes first: nothing that the first call is before can run.
  const other = await decide(perch, session, second?.approval ?? '', {
    decision: 'deny',
    reason: 'not on Mondays',
  });
  expect(other.status).toBe(200);
  expect(effects.filter((text) => text.includes(mark))).toEqual([]);
  await decide(perch, session, first?.approval ?? '', { decision: 'approve' });
  expect(await asked).toMatchObject({ text: 'done', reason: { kind: 'completed' } });
  expect(effects.filter((text) => text.includes(mark))).toEqual([`danger ${mark}`]);
  const results = await perch.events(session, 'tool/result');
  expect(results.map(({ call: id, error }) => [id, error])).toEqual([
    ['a', undefined],
    ['b', undefined],
    ['c', 'denied'],
  ]);
  const [, after] = await models.requests(model);
  expect(after?.body).toContain('not on Mondays');
});

it('waits without an alarm that spins, through evictions and crashes, and runs the call once', async () => {
  const perch = await createPerch();
  const mark = uniqueModel();
  const { session } = await open(perch, [
    { tool_calls: [call('a', 'effect', { text: `danger ${mark}` }), call('b', 'echo', { text: 'after' })] },
    { text: 'done' },
    { text: 'and that' },
  ]);
  await perch.post(session, { text: 'go' });
  const [first] = await untilAsked(perch, session);
  // The one alarm is the end of the time to decide: days away.
  await expect
    .poll(async () => ((await alarmOf(perch, session)) ?? 0) - Date.now())
    .toBeGreaterThan(24 * 3_600_000);
  // A message that comes meanwhile waits, and brings no earlier alarm that would take the place of this one.
  await perch.post(session, { text: 'and then', delivery: 'followup' });
  await expect
    .poll(async () => ((await alarmOf(perch, session)) ?? 0) - Date.now())
    .toBeGreaterThan(24 * 3_600_000);
  for (let times = 0; times < 12; times++) {
    await (times % 2 === 0 ? evictDurableObject(sessionStub(perch, session)) : abortAllDurableObjects());
    expect(await listOf(perch, session)).toHaveLength(1);
  }
  expect((await alarmOf(perch, session)) ?? 0).toBeGreaterThan(Date.now() + 24 * 3_600_000);
  await decide(perch, session, first?.approval ?? '', { decision: 'approve' });
  await expect
    .poll(() => perch.events(session, 'turn/end'))
    .toMatchObject([{ reason: { kind: 'completed' } }, { reason: { kind: 'completed' } }]);
  expect(effects.filter((text) => text.includes(mark))).toHaveLength(1);
  expect((await perch.events(session, 'tool/result')).map(({ error }) => error)).toEqual([
    undefined,
    undefined,
  ]);
  await expect.poll(() => alarmOf(perch, session)).toBeNull();
});

it('is decided by the first: a second decision, an unknown id and an answer to no question are refused', async () => {
  const perch = await createPerch();
  const { session } = await open(perch, [
    { tool_calls: [call('a', 'effect', { text: 'danger once' })] },
    { text: 'done' },
  ]);
  const asked = perch.ask(session, 'go');
  const [first] = await untilAsked(perch, session);
  const approval = first?.approval ?? '';
  expect((await decide(perch, session, approval, { answer: 'yes' })).status).toBe(400);
  expect((await decide(perch, session, 'apr_000000000000000000000000', { decision: 'approve' })).status).toBe(
    404,
  );
  const both = await Promise.all([
    decide(perch, session, approval, { decision: 'deny' }),
    decide(perch, session, approval, { decision: 'approve' }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  await asked;
  const late = await decide(perch, session, approval, { decision: 'approve' });
  expect(late.status).toBe(409);
  expect(await late.json()).toMatchObject({ code: 'approval_settled' });
  expect(await perch.events(session, 'approval/resolved')).toHaveLength(1);
  const other = await createPerch();
  expect((await decide(other, session, approval, { decision: 'approve' })).status).toBe(404);
});

it('hands a question to a person, and the answer to the model', async () => {
  const perch = await createPerch();
  const { model, session } = await open(perch, [
    { tool_calls: [call('q', 'ask_user', { question: 'Which colour?', options: ['red', 'blue'] })] },
    { text: 'blue it is' },
  ]);
  const asked = perch.ask(session, 'paint it');
  const [question] = await untilAsked(perch, session);
  expect(question).toMatchObject({ kind: 'question', prompt: 'Which colour?', options: ['red', 'blue'] });
  await abortAllDurableObjects();
  await decide(perch, session, question?.approval ?? '', { answer: 'a deep blue' });
  expect((await asked).text).toBe('blue it is');
  const [, after] = await models.requests(model);
  expect(after?.body).toContain('a deep blue');
  expect(await perch.events(session, 'tool/call')).toEqual([]);
});

it('ends with a cancel while it waits, takes the question away, and goes on with the queue', async () => {
  const perch = await createPerch();
  const { session } = await open(perch, [
    { tool_calls: [call('a', 'effect', { text: 'danger cancelled' })] },
    { text: 'next' },
  ]);
  const asked = perch.ask(session, 'go');
  const [first] = await untilAsked(perch, session);
  const queued = perch.ask(session, 'and then');
  await perch.request('POST', `/v1/sessions/${session}/cancel`);
  expect((await asked).reason).toMatchObject({ kind: 'aborted' });
  expect((await queued).text).toBe('next');
  expect(await perch.events(session, 'approval/resolved')).toMatchObject([{ outcome: 'withdrawn' }]);
  expect((await decide(perch, session, first?.approval ?? '', { decision: 'approve' })).status).toBe(409);
  expect(effects).not.toContain('danger cancelled');
});

it('denies what a guard refuses, and what a guard that fails was asked about', async () => {
  const perch = await createPerch();
  const { session } = await open(perch, [
    {
      tool_calls: [call('a', 'echo', { text: 'never this' }), call('b', 'echo', { text: 'break the guard' })],
    },
    { text: 'done' },
  ]);
  expect((await perch.ask(session, 'go')).reason).toEqual({ kind: 'completed' });
  const results = await perch.events(session, 'tool/result');
  expect(results.map(({ error }) => error)).toEqual(['denied', 'denied']);
  expect(JSON.stringify(results[0])).toContain('Never this.');
  expect(await perch.events(session, 'tool/call')).toEqual([]);
});

it('keeps one decision when the object is killed at any point of it', async () => {
  const perch = await createPerch();
  const points = [
    'approval.requesting',
    'approval.requested',
    'decision.committed',
    'tool.starting',
    'tool.settled',
  ];
  for (const at of points) {
    const mark = `${at} ${uniqueModel()}`;
    const { session } = await open(perch, [
      { tool_calls: [call('a', 'effect', { text: `danger ${mark}` })] },
      { text: 'done' },
    ]);
    let held = false;
    planFaults((point): void | Promise<void> => {
      if (point !== at || held) return;
      held = true;
      return new Promise<void>(() => undefined);
    });
    await perch.post(session, { text: 'go' });
    const kill = async () => {
      await expect.poll(() => held).toBe(true);
      await abortAllDurableObjects();
      clearFaults();
      await runDurableObjectAlarm(sessionStub(perch, session));
    };
    if (at.startsWith('approval')) await kill();
    if (at === 'approval.requesting') {
      // Nobody was asked, and a call that never started says so.
      await expect
        .poll(() => perch.events(session, 'tool/result'))
        .toMatchObject([{ error: 'TOOL_NOT_STARTED' }]);
      continue;
    }
    const [first] = await untilAsked(perch, session);
    const deciding = decide(perch, session, first?.approval ?? '', { decision: 'approve' }).catch(() => null);
    if (!at.startsWith('approval')) await kill();
    await deciding;
    await expect
      .poll(() => perch.events(session, 'turn/end'), { timeout: 5_000 })
      .toMatchObject([{ reason: { kind: 'completed' } }]);
    expect(await perch.events(session, 'approval/resolved')).toMatchObject([{ outcome: 'approved' }]);
    expect(effects.filter((text) => text.includes(mark)).length).toBe(1);
    expect(await perch.events(session, 'tool/result')).toHaveLength(1);
  }
}, 30_000);

it('keeps the todo list in the log, whole, with one item in progress', async () => {
  const perch = await createPerch();
  const item = (text: string, status: string) => ({ text, status });
  const { session } = await open(perch, [
    { tool_calls: [call('t', 'todo', { items: [item('look', 'done'), item('do', 'in_progress')] })] },
    { tool_calls: [call('u', 'todo', { items: [item('a', 'in_progress'), item('b', 'in_progress')] })] },
    { text: 'done' },
  ]);
  await perch.ask(session, 'go');
  expect(await perch.events(session, 'todo/write')).toMatchObject([
    { call: 't', items: [item('look', 'done'), item('do', 'in_progress')] },
  ]);
  expect((await perch.events(session, 'tool/result')).map(({ error }) => error)).toEqual([
    undefined,
    'invalid_arguments',
  ]);
});

it('narrows the tools of a session to those that its creation names', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ tool_calls: [call('a', 'effect', { text: 'x' })] }, { text: 'done' }]);
  const session = await perch.open({ agent: 'careful', model: `stand-in/${model}`, tools: ['echo', 'read'] });
  await perch.ask(session, 'go');
  expect(await perch.events(session, 'tool/result')).toMatchObject([{ error: 'unknown_tool' }]);
  const [request] = await models.requests(model);
  const names = z.looseObject({
    tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })),
  });
  expect(names.parse(JSON.parse(request?.body ?? '')).tools.map((tool) => tool.function.name)).toEqual([
    'echo',
    'read',
  ]);
  const refused = await perch.request('POST', '/v1/sessions', {
    agent: 'careful',
    tools: ['echo', 'nothing'],
  });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'unknown_tool' });
});
