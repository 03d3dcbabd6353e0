/** What bounds a recovery: the work of a start, the number of starts, and what was taken back before. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, expect, it } from 'vitest';
import { clearFaults, planFaults } from '../support/faults.ts';
import { sessionStub } from '../support/perch.ts';
import { ENDED } from './driver.ts';
import { readRows, readStanding } from './evidence.ts';
import { observeBirths } from './lives.ts';
import { isQuiet, openWorld, type World } from './world.ts';

afterEach(clearFaults);

const QUIET = { timeout: 10_000, interval: 5 };

/** Adds events of turns that were long ago, as rows. */
function lengthenLog({ client: { perch, session } }: World, count: number): Promise<void> {
  return runInDurableObject(sessionStub(perch, session), (_, { storage: { sql } }) => {
    const [last] = sql.exec<{ seq: number }>('SELECT max(seq) AS seq FROM events').toArray();
    const data = JSON.stringify({ type: 'step/end', turn: 1, step: 1 });
    for (let i = 1; i <= count; i++) {
      sql.exec(
        'INSERT INTO events (seq, at, type, data) VALUES (?, 0, ?, ?)',
        (last?.seq ?? 0) + i,
        'step/end',
        data,
      );
    }
  });
}

it('reads as many rows at its start over a log of 10,000 events as over one of 10', async () => {
  const births = observeBirths();
  const rowsRead: number[] = [];
  for (const events of [0, 10_000]) {
    const world = await openWorld('keeper');
    await world.create();
    await world.client.send('a prompt');
    await expect.poll(async () => isQuiet(await readStanding(world.client)), QUIET).toBe(true);
    if (events > 0) await lengthenLog(world, events);
    await abortAllDurableObjects();
    const before = births.length;
    await readStanding(world.client);
    const birth = births[before];
    expect(birth?.events).toBeGreaterThanOrEqual(Math.max(10, events));
    rowsRead.push(birth?.rowsRead ?? -1);
    world.end();
  }
  const [short, long] = rowsRead;
  expect(short).toBeGreaterThan(0);
  expect(long).toBe(short);
}, 60_000);

it('gives a turn up that kills its object whenever it goes on, and takes the next prompt', async () => {
  const world = await openWorld('keeper');
  await world.create();
  const { client } = world;
  let kills = 0;
  planFaults((point, ctx) => {
    if (point !== 'step.rendered' || world.outside.isReleased) return;
    kills++;
    ctx?.abort(ENDED);
  });
  await client.send('poison').catch(() => '');
  for (let i = 0; i < 30 && !(await readStanding(client).then(isQuiet, () => false)); i++) {
    await runDurableObjectAlarm(sessionStub(client.perch, client.session)).catch(() => 'it was ended again');
    await scheduler.wait(5);
  }
  const ended = kills;
  world.release();
  await client.send('a good one');
  await expect.poll(async () => isQuiet(await readStanding(client)), QUIET).toBe(true);
  const { rows } = await readRows(client);
  const ends = (rows?.events ?? []).flatMap((event) =>
    event.type === 'turn/end' ? [event.reason.kind] : [],
  );
  expect(ends).toEqual(['interrupted', 'completed']);
  expect(ended).toBeGreaterThan(2);
  expect(ended).toBeLessThan(12);
  world.end();
}, 60_000);

it('asks no model for a turn whose message was cleared before the restart', async () => {
  const world = await openWorld('keeper');
  await world.create();
  const { client, outside } = world;
  let wasReached = false;
  planFaults((point): void | Promise<void> => {
    if (point !== 'turn.started') return;
    wasReached = true;
    return new Promise(() => undefined);
  });
  await client.send('never mind');
  await expect.poll(() => wasReached, QUIET).toBe(true);
  await client.cancel({ clear: true });
  await abortAllDurableObjects();
  clearFaults();
  await runDurableObjectAlarm(sessionStub(client.perch, client.session));
  await expect.poll(async () => isQuiet(await readStanding(client)), QUIET).toBe(true);
  const { rows } = await readRows(client);
  expect(rows?.events.slice(-3).map(({ type }) => type)).toEqual([
    'turn/start',
    'inbox/discarded',
    'turn/end',
  ]);
  expect(rows?.events.at(-1)).toMatchObject({ reason: { kind: 'aborted' } });
  expect(outside.prompts).toEqual([]);
  world.end();
});

it('tells whoever asked an object that was ended to ask again, and that answers', async () => {
  const world = await openWorld('keeper');
  await world.create();
  const { perch, session } = world.client;
  let ends = 0;
  planFaults((point, ctx) => {
    if (point === 'admit.committed' && ends++ === 0) ctx?.abort(ENDED);
  });
  const send = () =>
    perch.request('POST', `/v1/sessions/${session}/messages`, { text: 'hello' }, { 'idempotency-key': 'k' });
  const first = await send();
  expect(first.status).toBe(503);
  expect(await first.json()).toMatchObject({ code: 'unavailable' });
  expect((await send()).status).toBe(202);
  await expect.poll(async () => isQuiet(await readStanding(world.client)), QUIET).toBe(true);
  world.end();
});
