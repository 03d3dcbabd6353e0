import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { sessionView } from '../../durable/rpc.ts';
import { clearFaults } from '../support/faults.ts';
import { holdAt, killAt } from '../support/hold.ts';
import { readJsonAs, readProblem } from '../support/http.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { openBusy, readClaims, readEnds, readSaid, readView, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

const cancel = (perch: Perch, session: string, body: object = {}, headers: Record<string, string> = {}) =>
  perch.request('POST', `/v1/sessions/${session}/cancel`, body, headers);

describe('a cancel', () => {
  it('holds through a crash right after it: the turn ends, the model is not asked again, the queue goes on', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [{ hang: true }, { text: 'the second answer' }]);
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    await send(perch, session, { text: 'first' });
    await expect.poll(() => models.requests(model)).toHaveLength(1);
    await send(perch, session, { text: 'second' });
    // Killed where the acknowledgement goes out, before the loop did anything about it.
    const hold = holdAt('turn.ending');
    expect((await cancel(perch, session)).status).toBe(200);
    await hold.reached();
    await abortAllDurableObjects();
    hold.release();
    await runDurableObjectAlarm(sessionStub(perch, session));
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 2, queued: 0 });
    const ends = await perch.events(session, 'turn/end');
    expect(ends).toMatchObject([
      { turn: 1, reason: { kind: 'aborted', by: `key:key_${perch.tenant}` } },
      { turn: 2, reason: { kind: 'completed' } },
    ]);
    // Once for each turn.
    expect(await models.requests(model)).toHaveLength(2);
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
  });

  it('holds through a crash in the middle of its own request, and can be sent again', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [{ hang: true }, { text: 'never' }]);
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    await send(perch, session, { text: 'first' });
    await expect.poll(() => models.requests(model)).toHaveLength(1);
    const key = { 'idempotency-key': 'cancel-1' };
    await killAt('cancel.committed', () => cancel(perch, session, {}, key));
    await runDurableObjectAlarm(sessionStub(perch, session));
    await untilIdle(perch, session);
    const again = await readJsonAs(await cancel(perch, session, {}, key), 200, sessionView);
    expect(again.turns).toBe(1);
    expect(await readEnds(perch, session)).toEqual([[1, 'aborted']]);
    expect(await models.requests(model)).toHaveLength(1);
  });

  it.each(['step.skills', 'step.rendered', 'step.lanes'])(
    'ends a turn whose preparation hangs at %s, and keeps what was said',
    async (point) => {
      const perch = await createPerch();
      const session = await perch.open({ agent: 'plain' });
      const hold = holdAt(point);
      await send(perch, session, { text: 'first' });
      await hold.reached();
      await send(perch, session, { text: 'second' });
      expect((await cancel(perch, session)).status).toBe(200);
      // What hangs there hangs for ever: only the first to come is held.
      expect(await untilIdle(perch, session)).toMatchObject({ turns: 2, queued: 0 });
      expect(await readEnds(perch, session)).toEqual([
        [1, 'aborted'],
        [2, 'completed'],
      ]);
      expect(await readSaid(perch, session)).toEqual(['first', 'second']);
      hold.release();
    },
  );

  it('changes nothing the second time', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const hold = holdAt('turn.started');
    await send(perch, session, { text: 'first' });
    await hold.reached();
    for (let i = 0; i < 3; i++) expect((await cancel(perch, session)).status).toBe(200);
    hold.release();
    const { last_seq } = await untilIdle(perch, session);
    expect(await readEnds(perch, session)).toEqual([[1, 'aborted']]);
    expect(await readJsonAs(await cancel(perch, session), 200, sessionView)).toMatchObject({
      status: 'idle',
      last_seq,
    });
    // It is not the next turn's either.
    await send(perch, session, { text: 'second' });
    await untilIdle(perch, session);
    expect((await readEnds(perch, session)).at(-1)).toEqual([2, 'completed']);
  });

  it('aims at one turn where it names one', async () => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    await send(perch, session, { text: 'second' });
    for (const turn of [2, 99]) {
      const view = await readJsonAs(
        await cancel(perch, session, { turn, clear_inbox: true }),
        200,
        sessionView,
      );
      expect(view).toMatchObject({ status: 'running', queued: 1 });
    }
    expect(await readJsonAs(await cancel(perch, session, { turn: 1 }), 200, sessionView)).toMatchObject({
      queued: 1,
    });
    await release();
    await untilIdle(perch, session);
    expect(await readEnds(perch, session)).toEqual([
      [1, 'aborted'],
      [2, 'completed'],
    ]);
    expect(await readProblem(await cancel(perch, session, { turn: 0 }))).toMatchObject({
      code: 'invalid_request',
    });
  });

  it.each(['followup', 'steer'])('does not lose a %s that races with it', async (delivery) => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    const [, message] = await Promise.all([
      cancel(perch, session),
      send(perch, session, { text: 'racing', delivery }),
      cancel(perch, session),
    ]);
    await release();
    await untilIdle(perch, session);
    const claims = (await readClaims(perch, session)).filter(([, , ids]) => ids.includes(message));
    expect(claims).toHaveLength(1);
    expect((await readEnds(perch, session)).at(-1)?.[1]).toBe(claims[0]?.[0] === 1 ? 'aborted' : 'completed');
    expect(await readSaid(perch, session)).toEqual(['first', 'racing']);
  });

  it('does not lose a message that comes while the cancelled turn ends', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const first = holdAt('turn.started');
    await send(perch, session, { text: 'first' });
    await first.reached();
    await cancel(perch, session, { clear_inbox: true });
    first.release();
    const ending = holdAt('turn.ended');
    await ending.reached();
    const message = await send(perch, session, { text: 'late' });
    await cancel(perch, session);
    ending.release();
    await untilIdle(perch, session);
    expect((await readClaims(perch, session)).at(-1)).toEqual([2, 1, [message]]);
    expect((await readEnds(perch, session)).at(-1)).toEqual([2, 'completed']);
  });

  it('gets its first answer again under its key, whatever happened since', async () => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    await send(perch, session, { text: 'cleared' });
    const key = { 'idempotency-key': 'clear-1' };
    const body = { clear_inbox: true };
    const first = await readJsonAs(await cancel(perch, session, body, key), 200, sessionView);
    expect(first).toMatchObject({ queued: 0, status: 'running' });
    await release();
    await untilIdle(perch, session);
    await send(perch, session, { text: 'kept', delivery: 'inject' });
    await evictDurableObject(sessionStub(perch, session));
    expect(await readJsonAs(await cancel(perch, session, body, key), 200, sessionView)).toEqual(first);
    expect(await readView(perch, session)).toMatchObject({ queued: 1 });
  });
});
