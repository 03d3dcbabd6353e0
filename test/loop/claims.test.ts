/** Who is claimed when (DESIGN section 4): nothing parks, nothing is lost, nothing is said twice. */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { clearFaults } from '../support/faults.ts';
import { holdAt, killAt } from '../support/hold.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { openBusy, readClaims, readEnds, readSaid, readView, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

/** More takeovers in a row than a turn may have. */
const TAKEOVERS = 9;

interface Ending {
  agent: string;
  /** Of the stand-in model, for the first turn. */
  answers?: Parameters<typeof models.script>[1];
  text?: string;
  /** What happens to the first turn when the second prompt waits behind it. */
  meanwhile?: (perch: Perch, session: string) => Promise<void>;
}

const ENDINGS: [string, Ending][] = [
  ['completed', { agent: 'plain' }],
  ['blocked', { agent: 'plain', text: 'forbidden words' }],
  ['error', { agent: 'stand-in', answers: [{ status: 400, body: '{}' }, { text: 'fine' }] }],
  [
    'budget',
    {
      agent: 'short',
      answers: [
        { tool_calls: [{ id: 'c1', name: 'echo', arguments: '{"text":"a"}' }] },
        { tool_calls: [{ id: 'c2', name: 'echo', arguments: '{"text":"b"}' }] },
        { text: 'fine' },
      ],
    },
  ],
  [
    'aborted',
    {
      agent: 'plain',
      meanwhile: async (perch, session) => {
        await perch.request('POST', `/v1/sessions/${session}/cancel`, {});
      },
    },
  ],
  [
    'interrupted',
    {
      agent: 'plain',
      meanwhile: async (perch, session) => {
        await abortAllDurableObjects();
        for (let i = 0; i < TAKEOVERS; i++) {
          await killAt('takeover.counted', () => runDurableObjectAlarm(sessionStub(perch, session)));
        }
        await runDurableObjectAlarm(sessionStub(perch, session));
      },
    },
  ],
];

describe('a queued prompt', () => {
  it.each(ENDINGS)('is taken next after a turn that ended %s', async (kind, ending) => {
    const perch = await createPerch();
    const model = uniqueModel();
    if (ending.answers) await models.script(model, ending.answers);
    const route = ending.answers ? { model: `stand-in/${model}` } : {};
    const session = await perch.open({ agent: ending.agent, ...route });
    const hold = holdAt('turn.started');
    await send(perch, session, { text: ending.text ?? 'first' });
    await hold.reached();
    const second = await send(perch, session, { text: 'second' });
    await ending.meanwhile?.(perch, session);
    hold.release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 2, queued: 0 });
    expect(await readEnds(perch, session)).toEqual([
      [1, kind],
      [2, 'completed'],
    ]);
    expect((await readClaims(perch, session)).at(-1)).toEqual([2, 1, [second]]);
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
  });
});

describe('a steer', () => {
  it('starts a turn where none runs', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const steer = await send(perch, session, { text: 'go', delivery: 'steer' });
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1, queued: 0 });
    expect(await readClaims(perch, session)).toEqual([[1, 1, [steer]]]);
  });

  it('goes before a prompt that came first, into the next step of the running turn', async () => {
    const perch = await createPerch();
    const { session, first, release } = await openBusy(perch);
    const prompt = await send(perch, session, { text: 'prompt' });
    const steer = await send(perch, session, { text: 'steer', delivery: 'steer' });
    const inject = await send(perch, session, { text: 'inject', delivery: 'inject' });
    await release();
    await untilIdle(perch, session);
    expect(await readClaims(perch, session)).toEqual([
      [1, 1, [first]],
      [1, 2, [steer, inject]],
      [2, 1, [prompt]],
    ]);
  });

  it.each([
    'answer.committing',
    'answer.committed',
    'step.ending',
    'step.ended',
    'turn.ending',
    'turn.ended',
  ])('that comes at %s of the last step is said once', async (point) => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const hold = holdAt(point);
    await send(perch, session, { text: 'first' });
    await hold.reached();
    const steer = await send(perch, session, { text: 'steer', delivery: 'steer' });
    hold.release();
    await untilIdle(perch, session);
    // In the same turn where its boundary is still to come, in a turn of its own else.
    const isTooLate = point.startsWith('turn.');
    expect((await readClaims(perch, session)).slice(1)).toEqual([
      [isTooLate ? 2 : 1, isTooLate ? 1 : 2, [steer]],
    ]);
    expect(await readSaid(perch, session)).toEqual(['first', 'steer']);
  });
});

describe('an inject', () => {
  it('wakes nobody, arms nothing, and is taken with the next turn', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const note = await send(perch, session, { text: 'note', delivery: 'inject' });
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
    expect(await readView(perch, session)).toMatchObject({ status: 'idle', queued: 1, turns: 0 });
    const prompt = await send(perch, session, { text: 'prompt' });
    await untilIdle(perch, session);
    expect(await readClaims(perch, session)).toEqual([[1, 1, [note, prompt]]]);
  });

  it('is read by the running turn only where a step comes after it', async () => {
    const perch = await createPerch();
    const { session, first, release } = await openBusy(perch);
    const note = await send(perch, session, { text: 'note', delivery: 'inject' });
    await release();
    await untilIdle(perch, session);
    expect(await readClaims(perch, session)).toEqual([
      [1, 1, [first]],
      [1, 2, [note]],
    ]);
  });
});

it('keeps the order of admission, and says each message once, however often each is sent', async () => {
  const perch = await createPerch();
  const { session, release } = await openBusy(perch);
  const sent = ['followup', 'inject', 'followup', 'steer', 'inject', 'followup'];
  const ids: string[] = [];
  for (const [i, delivery] of sent.entries()) {
    const same = () => send(perch, session, { text: `m${i}`, delivery }, { 'idempotency-key': `key-${i}` });
    const copies = await Promise.all([same(), same(), same()]);
    expect(new Set(copies).size).toBe(1);
    ids.push(...copies.slice(0, 1));
  }
  // Once more, all of them, out of order and while the turn goes on.
  const again = sent.map((delivery, i) =>
    send(perch, session, { text: `m${i}`, delivery }, { 'idempotency-key': `key-${i}` }),
  );
  await release();
  expect(await Promise.all(again.reverse())).toEqual([...ids].reverse());
  await untilIdle(perch, session);
  expect(await readSaid(perch, session)).toEqual(['first', 'm1', 'm3', 'm4', 'm0', 'm2', 'm5']);
  expect(await perch.events(session, 'inbox/admitted')).toHaveLength(7);
});
