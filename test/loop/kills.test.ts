/**
 * Kills the object at every fault point of a scenario, restarts it with nobody connected, and checks the contract of
 * *Crash safety* (DESIGN section 4): acknowledged is terminal, once; every call has one result; no effect twice.
 */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { effects } from '../support/deployment.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, type Perch, type SeenEvent, sessionStub } from '../support/perch.ts';

afterEach(clearFaults);

/** One prompt with an effect and two calls that may run again, and a second prompt behind it. */
async function admit(perch: Perch, session: string, mark: string): Promise<string[]> {
  const texts = [
    `first ${mark}\ncall effect {"text":"${mark}"}\ncall echo {"text":"a"}\ncall echo {"text":"b"}`,
    `second ${mark}`,
  ];
  for (const text of texts) expect((await perch.post(session, { text })).status).toBe(202);
  return texts;
}

async function untilIdle(perch: Perch, session: string): Promise<void> {
  const view = z.object({ status: z.string(), queued: z.number() });
  await expect
    .poll(async () => view.parse(await (await perch.request('GET', `/v1/sessions/${session}`)).json()), {
      timeout: 5_000,
    })
    .toEqual({ status: 'idle', queued: 0 });
}

function checkContract(events: SeenEvent[], texts: string[], mark: string): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  const of = (type: string) => events.filter((event) => event.type === type);
  const said = of('user/message').map(({ message }) =>
    z.looseObject({ content: z.array(z.looseObject({})) }).parse(message),
  );
  expect(said.map(({ content }) => content[0]?.text)).toEqual(texts);
  expect(of('turn/start').map(({ turn }) => turn)).toEqual([1, 2]);
  expect(
    of('turn/end').map(({ turn, reason }) => [turn, z.looseObject({ kind: z.string() }).parse(reason).kind]),
  ).toEqual([
    [1, 'completed'],
    [2, 'completed'],
  ]);
  const calls = of('assistant/message').flatMap(({ content }) =>
    z
      .array(z.looseObject({ type: z.string(), id: z.string().optional() }))
      .parse(content)
      .filter(({ type }) => type === 'tool-call'),
  );
  expect(calls.length).toBe(3);
  expect(of('tool/result').map(({ call }) => call)).toEqual(calls.map(({ id }) => id));
  const [effect] = of('tool/result');
  const ran = effects.filter((text) => text === mark).length;
  expect(ran).toBeLessThanOrEqual(1);
  // What the model is told of the effect is true.
  if (effect?.error === undefined || effect.error === 'TOOL_OUTCOME_UNKNOWN')
    expect(ran).toBeLessThanOrEqual(1);
  if (effect?.error === undefined) expect(ran).toBe(1);
  if (effect?.error === 'TOOL_NOT_STARTED') expect(ran).toBe(0);
}

async function recordTrace(perch: Perch): Promise<string[]> {
  const trace: string[] = [];
  planFaults((point) => void trace.push(point));
  const session = await perch.open({ agent: 'plain' });
  const texts = await admit(perch, session, 'trace');
  await untilIdle(perch, session);
  clearFaults();
  checkContract(await perch.events(session), texts, 'trace');
  return trace;
}

it('keeps the contract when the object is killed at any point, and again while it recovers', async () => {
  const perch = await createPerch();
  const trace = await recordTrace(perch);
  expect(new Set(trace).size).toBeGreaterThanOrEqual(10);
  let kills = 0;
  for (let at = 0; at < trace.length; at++) {
    // The second kill comes at the first points of the recovery.
    for (const again of [null, at % 4]) {
      const mark = `${at}-${again}`;
      const session = await perch.open({ agent: 'plain' });
      const texts = await crash(at, () => admit(perch, session, mark));
      kills++;
      if (again !== null) {
        await crash(again, () => runDurableObjectAlarm(sessionStub(perch, session)));
        kills++;
      }
      clearFaults();
      // Nobody is connected: the alarm that was armed before the work brings the object back.
      const woken = await runDurableObjectAlarm(sessionStub(perch, session));
      await untilIdle(perch, session);
      if (!woken) expect(trace.slice(at)).not.toContain('turn.started');
      checkContract(await perch.events(session), texts, mark);
      expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
    }
  }
  expect(kills).toBe(trace.length * 3);
}, 120_000);

it('ends a turn whose message was discarded before a restart, without asking a model', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  planFaults((point): void | Promise<void> => {
    if (point === 'turn.started') return new Promise<void>(() => undefined);
  });
  await perch.post(session, { text: 'never mind' });
  await perch.request('POST', `/v1/sessions/${session}/cancel`, { clear_inbox: true });
  await abortAllDurableObjects();
  clearFaults();
  await runDurableObjectAlarm(sessionStub(perch, session));
  await untilIdle(perch, session);
  const events = await perch.events(session);
  expect(events.map(({ type }) => type).slice(-3)).toEqual(['turn/start', 'inbox/discarded', 'turn/end']);
  expect(events.at(-1)).toMatchObject({ reason: { kind: 'interrupted' } });
  expect(await perch.ask(session, 'and on')).toMatchObject({ turn: 2, reason: { kind: 'completed' } });
});

const MOST_POLLS = 100;

/** Runs `work` until the loop reaches its `at`-th point, holds it there, and kills the object. */
async function crash<T>(at: number, work: () => Promise<T>): Promise<T> {
  let passed = 0;
  let reached = false;
  planFaults((): void | Promise<void> => {
    if (passed++ !== at) return;
    reached = true;
    return new Promise<void>(() => undefined);
  });
  const result = await work();
  // Polled, because a promise that one object settles for another request is none of the platform's.
  for (let waited = 0; !reached && waited < MOST_POLLS; waited++) await scheduler.wait(2);
  await abortAllDurableObjects();
  return result;
}
