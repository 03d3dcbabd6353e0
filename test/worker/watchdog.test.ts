import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clearFaults, planFaults } from '../support/faults.ts';
import { holdAt } from '../support/hold.ts';
import { createPerch, type Perch, sessionStub } from '../support/perch.ts';
import { openBusy, readEnds, readView, send, untilIdle } from '../support/turns.ts';

afterEach(() => {
  clearFaults();
  vi.restoreAllMocks();
});

/** Milliseconds until the stored alarm; null where there is none. */
async function readAlarm(perch: Perch, session: string): Promise<number | null> {
  const at = await runInDurableObject(sessionStub(perch, session), (_, { storage }) => storage.getAlarm());
  return at === null ? null : at - Date.now();
}

const runAlarm = (perch: Perch, session: string) => runDurableObjectAlarm(sessionStub(perch, session));

describe('the watchdog', () => {
  it('is armed while a turn runs, again by its own handler, and gone when the session is idle', async () => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    for (let i = 0; i < 3; i++) {
      const ms = await readAlarm(perch, session);
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(3_000);
      expect(await runAlarm(perch, session)).toBe(true);
    }
    await release();
    await untilIdle(perch, session);
    expect(await readAlarm(perch, session)).toBeNull();
    expect(await readEnds(perch, session)).toEqual([[1, 'completed']]);
  });

  it('is armed by the commit that admits a message, before anything runs', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'hello');
    const hold = holdAt('admit.committed');
    const sent = send(perch, session, { text: 'more' });
    await hold.reached();
    const ms = await readAlarm(perch, session);
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(3_000);
    hold.release();
    await sent;
    await untilIdle(perch, session);
    expect(await readAlarm(perch, session)).toBeNull();
  });

  it.each(['a note', 'a discard', 'a reset', 'a repair', 'a cancel'])(
    'is not armed by %s while the session is idle',
    async (what) => {
      const perch = await createPerch();
      const session = await perch.open({ agent: 'plain' });
      await perch.ask(session, 'hello');
      await send(perch, session, { text: 'a note', delivery: 'inject' });
      const path = `/v1/sessions/${session}`;
      if (what === 'a discard') await perch.request('DELETE', `${path}/messages`);
      if (what !== 'a note' && what !== 'a discard') {
        await perch.request(
          'POST',
          `${path}/${what.slice(2)}`,
          what === 'a cancel' ? { clear_inbox: true } : {},
        );
      }
      expect(await readAlarm(perch, session)).toBeNull();
    },
  );

  it('tries a turn again that the log cannot take, after twice the pause each time', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    let failures = 0;
    planFaults((point) => {
      if (point !== 'turn.ending') return;
      failures++;
      throw new Error('the disk is full');
    });
    await send(perch, session, { text: 'hello' });
    const pauses: number[] = [];
    for (let i = 1; ; i++) {
      await expect.poll(() => failures).toBe(i);
      // The alarm is set when the driver has stopped.
      await scheduler.wait(10);
      pauses.push(Math.round(((await readAlarm(perch, session)) ?? 0) / 1_000));
      if (i === 8) break;
      await runAlarm(perch, session);
    }
    expect(pauses).toEqual([3, 6, 12, 24, 48, 96, 192, 300]);
    expect(await readView(perch, session)).toMatchObject({ status: 'running' });
    clearFaults();
    await runAlarm(perch, session);
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1, queued: 0 });
    expect(await readEnds(perch, session)).toEqual([[1, 'completed']]);
    expect(await readAlarm(perch, session)).toBeNull();
  });

  it('does not let a new message wait for a long pause', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    planFaults((point) => {
      if (point === 'turn.ending') throw new Error('the disk is full');
    });
    await send(perch, session, { text: 'hello' });
    for (let i = 0; i < 4; i++) {
      await scheduler.wait(20);
      await runAlarm(perch, session);
    }
    await scheduler.wait(20);
    expect(await readAlarm(perch, session)).toBeGreaterThan(20_000);
    const hold = holdAt('turn.resumed');
    await send(perch, session, { text: 'more' });
    await hold.reached();
    expect(await readAlarm(perch, session)).toBeLessThanOrEqual(3_000);
    hold.release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 2, queued: 0 });
  });

  it('starts the object anew when nothing has moved in a turn for longer than its limits allow', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const hold = holdAt('tool.started');
    await send(perch, session, { text: 'call effect {"text":"stuck"}' });
    await hold.reached();
    expect(await runAlarm(perch, session)).toBe(true);
    const now = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => now + 9 * 60_000);
    await runAlarm(perch, session);
    expect(await readView(perch, session)).toMatchObject({ status: 'running' });
    vi.spyOn(Date, 'now').mockImplementation(() => now + 11 * 60_000);
    await runAlarm(perch, session).catch(() => undefined);
    vi.restoreAllMocks();
    // Nobody asks: the alarm that it left brings it back.
    await runAlarm(perch, session);
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1 });
    expect(await readEnds(perch, session)).toEqual([[1, 'completed']]);
    const [result] = await perch.events(session, 'tool/result');
    expect(result).toMatchObject({ error: 'TOOL_OUTCOME_UNKNOWN' });
    hold.release();
  });
});
