/**
 * A fork that is killed anywhere: the child does not exist until the last commit, the same request again succeeds, and
 * nothing is left of a copy that nobody asks for again. The parent is long: ten thousand events.
 */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, expect, it } from 'vitest';
import { sessionView } from '../../durable/rpc.ts';
import { seedLog } from '../../scripts/bench/workers/seed.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, type Perch, sessionStub } from '../support/perch.ts';
import { expectTerminal, postFork, view } from './forks.ts';

afterEach(clearFaults);

const EVENTS = 10_000;
const MOST_POLLS = 500;

/** A session with a long past, a turn of its own behind it, and a message that waits. */
async function createLongParent(perch: Perch): Promise<string> {
  const response = await perch.request('POST', '/v1/sessions', { agent: 'plain' });
  const { id } = sessionView.parse(await response.json());
  await perch.ask(id, 'the oldest');
  await runInDurableObject(sessionStub(perch, id), (_, { storage }) => {
    seedLog(storage, EVENTS);
    storage.sql.exec('UPDATE surface SET first = 1');
    storage.sql.exec('UPDATE surface SET first = (SELECT max(seq) FROM events)');
  });
  await abortAllDurableObjects();
  await perch.ask(id, 'the newest');
  await perch.post(id, { text: 'waits', delivery: 'inject' });
  return id;
}

/** Holds the object at the `at`-th point of its fork. */
function holdAt(at: number): { points: string[]; isHeld: () => boolean } {
  const points: string[] = [];
  let held = false;
  planFaults((point): void | Promise<void> => {
    if (!point.startsWith('fork.')) return;
    points.push(point);
    if (points.length !== at + 1) return;
    held = true;
    return new Promise<void>(() => undefined);
  });
  return { points, isHeld: () => held };
}

/** Kills the object at the `at`-th point; false where the fork has no such point. */
async function killAt(
  perch: Perch,
  parent: string,
  child: string,
  at: number,
  key: string,
): Promise<boolean> {
  const { isHeld } = holdAt(at);
  let answered = false;
  const asked = postFork(perch, parent, { id: child }, key).then(
    () => {
      answered = true;
    },
    () => undefined,
  );
  // Polled, because a promise that one object settles for another request is none of the platform's.
  for (let waited = 0; !isHeld() && !answered && waited < MOST_POLLS; waited++) await scheduler.wait(5);
  await abortAllDurableObjects();
  await asked;
  clearFaults();
  return isHeld();
}

it('copies ten thousand events in bounded pieces', async () => {
  const perch = await createPerch();
  const parent = await createLongParent(perch);
  const { points } = holdAt(-1);
  const response = await postFork(perch, parent);
  clearFaults();
  const child = sessionView.parse(await response.json());
  const of = await view(perch, parent);
  expect(points.filter((point) => point === 'fork.paged').length).toBeGreaterThanOrEqual(10);
  expect(child.turns).toBe(of.turns);
  const [theirs, ours] = await Promise.all([perch.events(parent), perch.events(child.id)]);
  expect(ours.slice(1, theirs.length)).toEqual(theirs.slice(1));
  expect(ours.slice(theirs.length).map(({ type }) => type)).toEqual(['inbox/discarded']);
  await expectTerminal(perch, child.id);
}, 60_000);

it('is nothing or whole wherever it is killed, and the same request again makes it whole', async () => {
  const perch = await createPerch();
  const parent = await createLongParent(perch);
  const killed: string[] = [];
  const trace = holdAt(-1);
  await postFork(perch, parent);
  clearFaults();
  for (const [at, point] of trace.points.entries()) {
    const child = `child-${at}`;
    const key = `key-${at}`;
    expect([point, await killAt(perch, parent, child, at, key)]).toEqual([point, true]);
    killed.push(point);
    const isBorn = point === 'fork.adopted';
    const found = await perch.request('GET', `/v1/sessions/${child}`);
    expect([point, found.status]).toEqual([point, isBorn ? 200 : 404]);
    // Killed again in the retry, somewhere else, before it may succeed.
    if (at % 3 === 0 && !isBorn) await killAt(perch, parent, child, (at * 7) % trace.points.length, key);
    const again = await postFork(perch, parent, { id: child }, key);
    expect([point, again.status]).toEqual([point, 201]);
    const view = sessionView.parse(await again.json());
    expect(view.parent?.at_seq).toBe(view.last_seq - 1);
    await runInDurableObject(sessionStub(perch, child), async (_, { storage }) => {
      const { n } = storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM events').one();
      expect(n).toBe(view.last_seq);
      // A session that is idle has no alarm.
      expect(await storage.getAlarm()).toBeNull();
    });
  }
  expect(new Set(killed)).toEqual(
    new Set([
      'fork.pointed',
      'fork.begun',
      'fork.paged',
      'fork.closed',
      'fork.discarded',
      'fork.copied',
      'fork.adopted',
    ]),
  );
}, 120_000);

it('clears away what was copied, by its alarm, where nobody asks again', async () => {
  const perch = await createPerch();
  const parent = await createLongParent(perch);
  const child = 'never-born';
  expect(await killAt(perch, parent, child, 5, 'a-key')).toBe(true);
  const stub = sessionStub(perch, child);
  const tables = () =>
    runInDurableObject(
      stub,
      (_, { storage }) =>
        storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM sqlite_master WHERE name = 'events'").one()
          .n,
    );
  expect(await tables()).toBe(1);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await tables()).toBe(0);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
}, 60_000);

it('gives the id of a copy that was cut off to a session that is created instead', async () => {
  const perch = await createPerch();
  const parent = await createLongParent(perch);
  expect(await killAt(perch, parent, 'taken-over', 5, 'a-key')).toBe(true);
  const id = await perch.open({ id: 'taken-over', agent: 'plain' });
  expect((await perch.events(id)).map(({ type }) => type)).toEqual(['session/created']);
  expect(await perch.ask(id, 'hello')).toMatchObject({ turn: 1 });
  const late = await postFork(perch, parent, { id }, 'a-key');
  expect(late.status).toBe(409);
}, 60_000);

it('lets a creation of the same id wait for it, and fails as a whole where its parent is erased', async () => {
  const perch = await createPerch();
  const parent = await createLongParent(perch);
  let held = false;
  let go = false;
  planFaults(async (point) => {
    if (point !== 'fork.paged' || held) return;
    held = true;
    while (!go) await scheduler.wait(2);
  });
  const forking = postFork(perch, parent, { id: 'one-id' });
  await expect.poll(() => held).toBe(true);
  const creating = perch.request('POST', '/v1/sessions', { id: 'one-id', agent: 'plain' });
  expect((await perch.request('GET', '/v1/sessions/one-id')).status).toBe(404);
  expect((await perch.request('DELETE', `/v1/sessions/${parent}`)).status).toBe(204);
  go = true;
  expect((await forking).status).toBe(404);
  expect((await creating).status).toBe(201);
  expect((await perch.events('one-id')).length).toBe(1);
}, 60_000);
