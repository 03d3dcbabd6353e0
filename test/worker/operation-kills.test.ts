/** Kills the object at each point of each operation: the same request again succeeds, and nothing is lost or doubled. */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clearFaults, planFaults } from '../support/faults.ts';
import { holdAt, killAt } from '../support/hold.ts';
import { createPerch, type Perch, sessionStub } from '../support/perch.ts';
import { openBusy, readClaims, readEnds, readView, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

const KEY = { 'idempotency-key': 'the-same-request' };

async function listIds(perch: Perch): Promise<string[]> {
  const page = z.object({ data: z.array(z.looseObject({ id: z.string() })) });
  return page.parse(await (await perch.request('GET', '/v1/sessions')).json()).data.map(({ id }) => id);
}

describe('after a kill at', () => {
  it.each(['create.checked', 'create.committed'])('%s, a creation is made once', async (point) => {
    const perch = await createPerch();
    const create = () => perch.request('POST', '/v1/sessions', { agent: 'plain', id: 'the-session' }, KEY);
    await killAt(point, create);
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(201);
    expect(await perch.events('the-session', 'session/created')).toHaveLength(1);
    expect((await perch.ask('the-session', 'hello')).reason).toEqual({ kind: 'completed' });
    // Killed before it was listed, it is with its next message.
    await expect.poll(() => listIds(perch)).toEqual(['the-session']);
  });

  it.each(['admit.checked', 'admit.committed'])('%s, a message is said once', async (point) => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const say = () => send(perch, session, { text: 'once' }, KEY);
    await killAt(point, say);
    const message = await say();
    await untilIdle(perch, session);
    expect(await say()).toBe(message);
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1, queued: 0 });
    expect(await readClaims(perch, session)).toEqual([[1, 1, [message]]]);
  });

  it('admit.committed, the message is answered with nobody connected', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await killAt('admit.committed', () => send(perch, session, { text: 'alone' }));
    await runDurableObjectAlarm(sessionStub(perch, session));
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1, queued: 0 });
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
  });

  it('discard.committed, the message is discarded once and never said', async () => {
    const perch = await createPerch();
    const { session, first } = await openBusy(perch);
    const message = await send(perch, session, { text: 'gone' });
    const discard = () => perch.request('DELETE', `/v1/sessions/${session}/messages/${message}`);
    await killAt('discard.committed', discard);
    expect((await discard()).status).toBe(404);
    await perch.request('POST', `/v1/sessions/${session}/cancel`, {});
    expect(await untilIdle(perch, session)).toMatchObject({ queued: 0 });
    expect(await perch.events(session, 'inbox/discarded')).toHaveLength(1);
    expect((await readClaims(perch, session)).flatMap(([, , ids]) => ids)).toEqual([first]);
  });

  it.each(['erase.marked', 'erase.drained', 'erase.unlisted', 'erase.emptied', 'erase.done'])(
    '%s, an erasing goes on by itself, and a session of its id can be made',
    async (point) => {
      const perch = await createPerch();
      const create = async () => {
        const made = await perch.request('POST', '/v1/sessions', { agent: 'plain', id: 'erased' });
        expect(made.status).toBe(201);
        await expect.poll(() => listIds(perch)).toEqual(['erased']);
      };
      const erase = () => perch.request('DELETE', '/v1/sessions/erased');
      await create();
      // In the middle of a turn, with something behind it.
      const hold = holdAt('tool.started');
      await send(perch, 'erased', { text: 'call echo {"text":"a"}' });
      await hold.reached();
      await send(perch, 'erased', { text: 'never said' });
      await killAt(point, () => {
        const erased = erase();
        hold.release();
        return erased;
      });
      // It is gone for everybody from here on.
      expect((await perch.request('GET', '/v1/sessions/erased')).status).toBe(404);
      await runDurableObjectAlarm(sessionStub(perch, 'erased')).catch(() => undefined);
      await expect.poll(() => listIds(perch)).toEqual([]);
      expect([204, 404]).toContain((await erase()).status);
      expect((await erase()).status).toBe(404);
      expect(await runDurableObjectAlarm(sessionStub(perch, 'erased'))).toBe(false);
      await create();
      expect(await readView(perch, 'erased')).toMatchObject({ turns: 0, queued: 0, last_seq: 1 });
      expect((await perch.ask('erased', 'hello')).turn).toBe(1);
      expect((await erase()).status).toBe(204);
    },
  );

  it('erase.marked, the same request again finishes it', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const erase = () => perch.request('DELETE', `/v1/sessions/${session}`);
    await killAt('erase.marked', erase);
    await Promise.all([1, 2, 3].map(async () => expect([204, 404]).toContain((await erase()).status)));
    expect(await listIds(perch)).toEqual([]);
  });
});

it('erases nothing by halves when the list of sessions does not answer', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  await expect.poll(() => listIds(perch)).toEqual([session]);
  planFaults((point) => {
    if (point === 'erase.drained') throw new Error('the directory is down');
  });
  const erase = () => perch.request('DELETE', `/v1/sessions/${session}`);
  expect((await erase()).status).toBe(500);
  // It is on its way: nobody sees it, and a second attempt fails as the first.
  expect((await perch.request('GET', `/v1/sessions/${session}`)).status).toBe(404);
  expect((await perch.post(session, { text: 'hello' })).status).toBe(404);
  expect((await erase()).status).toBe(500);
  clearFaults();
  expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(true);
  expect((await erase()).status).toBe(404);
  expect(await listIds(perch)).toEqual([]);
});

it('erases a session whose turn does not stop', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  // Nothing that is cancelled stands here: this is a fault of the loop's own.
  const hold = holdAt('turn.ending');
  await send(perch, session, { text: 'hello' });
  await hold.reached();
  const first = await perch.request('DELETE', `/v1/sessions/${session}`).catch(() => null);
  expect(first?.status ?? 503).toBeGreaterThanOrEqual(500);
  expect([204, 404]).toContain((await perch.request('DELETE', `/v1/sessions/${session}`)).status);
  expect(await listIds(perch)).toEqual([]);
  hold.release();
}, 20_000);

it('holds nobody up with a message that comes while its session is erased', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  const hold = holdAt('erase.drained');
  const erased = perch.request('DELETE', `/v1/sessions/${session}`);
  await hold.reached();
  expect((await perch.post(session, { text: 'too late' })).status).toBe(404);
  hold.release();
  expect((await erased).status).toBe(204);
  expect(await readEnds(perch, session).catch(() => 'gone')).toBe('gone');
});
