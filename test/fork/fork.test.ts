import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';
import { expectAudited, expectTerminal, fork, postFork, problem, readExport, view } from './forks.ts';

afterEach(clearFaults);

const CALLS = 'call echo {"text":"a"}\ncall effect {"text":"forked"}';

/** Two turns, the first with two steps. */
async function talk(perch: Perch): Promise<string> {
  const session = await perch.open({ agent: 'plain', metadata: { kind: 'parent' } });
  await perch.ask(session, `first\n${CALLS}`);
  await perch.ask(session, 'second');
  return session;
}

it('makes a session of its own with the log of the parent, but for the first event', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const before = await perch.events(parent);
  const child = await fork(perch, parent);
  const { id, created_at, parent: from, ...rest } = child;
  const { id: _, created_at: __, parent: ___, ...same } = await view(perch, parent);
  expect(rest).toEqual(same);
  expect(from).toEqual({ session: parent, at_seq: before.length });
  expect(created_at).toBeGreaterThan(0);
  const [created, ...events] = await perch.events(id);
  expect(created).toEqual({ ...before[0], parent: from });
  expect(events).toEqual(before.slice(1));
  const listed = z.object({ data: z.array(z.looseObject({ id: z.string() })) });
  const list = listed.parse(await (await perch.request('GET', '/v1/sessions')).json());
  expect(list.data.map((entry) => entry.id)).toEqual([id, parent]);
  await expectAudited(perch, id);
  await expectTerminal(perch, id);
});

it('goes on from there without the parent, and the parent without the child', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { text: 'one' },
    { text: 'two' },
    { text: 'of the child' },
    { text: 'of the parent' },
  ]);
  const parent = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.ask(parent, 'first');
  await perch.ask(parent, 'second');
  const { id } = await fork(perch, parent);
  expect(await perch.ask(id, 'third of the child')).toMatchObject({ turn: 3, text: 'of the child' });
  expect(await perch.ask(parent, 'third of the parent')).toMatchObject({ turn: 3, text: 'of the parent' });
  const [, second, ofChild, ofParent] = (await models.requests(model)).map(({ body }) => body);
  // The child's request extends the parent's last one: a provider's cache applies.
  const head = JSON.stringify(JSON.parse(second ?? '{}').messages).slice(0, -1);
  expect(JSON.stringify(JSON.parse(ofChild ?? '{}').messages).startsWith(head)).toBe(true);
  expect(ofChild).not.toContain('third of the parent');
  expect(ofParent).not.toContain('third of the child');
  await perch.request('DELETE', `/v1/sessions/${parent}`);
  expect(await perch.ask(id, 'alone')).toMatchObject({ turn: 4 });
  await expectAudited(perch, id);
});

it('tells the prompt of a copied step as the parent does', async () => {
  const perch = await createPerch();
  await publishSkills({ guide: 'Follow the guide.' });
  const parent = await perch.open({ agent: 'plain' });
  await perch.ask(parent, '/guide me\ncall echo {"text":"x"}');
  const { id } = await fork(perch, parent);
  for (const at of ['turn=1&step=1', 'turn=1&step=2', 'turn=1&step=2&diff=1.1']) {
    const read = async (session: string) =>
      (await perch.request('GET', `/v1/sessions/${session}/prompt?${at}`)).text();
    const told = await read(id);
    expect(told).toContain('You are the plain agent');
    expect(told).toBe(await read(parent));
  }
});

it('parts the log wherever no step is open, and elsewhere names the nearest places', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const events = await perch.events(parent);
  let open: number | null = null;
  for (const { seq, type } of events) {
    if (type === 'step/start') open = seq;
    if (type === 'step/end' || type === 'turn/end') open = null;
    const response = await postFork(perch, parent, { at_seq: seq });
    if (open === null) {
      expect([seq, response.status]).toEqual([seq, 201]);
      const { id } = z.looseObject({ id: z.string() }).parse(await response.json());
      await expectAudited(perch, id);
      await expectTerminal(perch, id);
      continue;
    }
    const after = events.find((event) => event.seq > seq && event.type === 'step/end')?.seq;
    expect([seq, response.status]).toEqual([seq, 409]);
    expect(problem.parse(await response.json())).toMatchObject({
      code: 'not_a_boundary',
      before: open - 1,
      after,
    });
  }
  const beyond = await postFork(perch, parent, { at_seq: events.length + 1 });
  expect(problem.parse(await beyond.json())).toMatchObject({
    code: 'not_a_boundary',
    before: events.length,
    after: null,
  });
  expect((await postFork(perch, parent, { at_seq: 0 })).status).toBe(400);
});

it('ends the turn that it cuts short at the end of a step, and can be asked on', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const stepEnd = (await perch.events(parent, 'step/end'))[0]?.seq ?? 0;
  const { id, turns, usage, spent } = await fork(perch, parent, { at_seq: stepEnd });
  const events = await perch.events(id);
  expect(events.slice(stepEnd)).toMatchObject([
    { type: 'turn/end', turn: 1, steps: 1, reason: { kind: 'interrupted' }, receipt: { tool_calls: 2 } },
  ]);
  expect(usage).toEqual(events.at(-1)?.usage);
  expect(turns).toBe(1);
  expect(spent.session).toMatchObject({ steps: 1, tool_calls: 2 });
  expect(await perch.ask(id, 'and now')).toMatchObject({ turn: 2, reason: { kind: 'completed' } });
  await expectAudited(perch, id);
});

it('has used up what the parent had used up there', async () => {
  const perch = await createPerch();
  const parent = await perch.open({ agent: 'plain' });
  const seen = [];
  for (const text of ['one', CALLS, 'three']) {
    await perch.ask(parent, text);
    const { usage, spent, last_seq, turns } = await view(perch, parent);
    seen.push({ usage, spent, last_seq, turns });
  }
  for (const then of seen) expect(await fork(perch, parent, { at_seq: then.last_seq })).toMatchObject(then);
});

it('parts between turns where nothing is said, never inside the one in flight', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const end = (await perch.events(parent)).length;
  let held = false;
  planFaults((point): void | Promise<void> => {
    if (point !== 'tool.started') return;
    held = true;
    return new Promise<void>(() => undefined);
  });
  await perch.post(parent, { text: CALLS });
  await expect.poll(() => held).toBe(true);
  const child = await fork(perch, parent);
  clearFaults();
  // The third prompt was admitted before its turn began: it is the parent's.
  const tail = (await perch.events(child.id)).slice(end);
  expect(tail.map(({ type }) => type)).toEqual(['inbox/admitted', 'inbox/discarded']);
  expect(child).toMatchObject({ status: 'idle', turns: 2, queued: 0, parent: { at_seq: end + 1 } });
  await expectTerminal(perch, child.id);
  await abortAllDurableObjects();
  await expect.poll(async () => (await view(perch, parent)).status, { timeout: 10_000 }).toBe('idle');
});

it('leaves the queue with the parent, and says so of every message', async () => {
  const perch = await createPerch();
  const parent = await perch.open({ agent: 'plain' });
  const image = { type: 'image', media_type: 'image/png', data: btoa('a picture that waits') };
  await perch.post(parent, { content: [{ type: 'text', text: 'an inject' }, image], delivery: 'inject' });
  await perch.post(parent, { text: 'another inject', delivery: 'inject' });
  const waiting = await fork(perch, parent);
  const discards = (await perch.events(waiting.id)).filter(({ type }) => type === 'inbox/discarded');
  expect(discards).toHaveLength(2);
  expect(JSON.stringify(discards)).toContain('another inject');
  expect(discards[0]?.cause).toContain(parent);
  await expectTerminal(perch, waiting.id);
  expect(await readExport(perch, waiting.id)).toContain(btoa('a picture that waits'));
  expect((await view(perch, parent)).queued).toBe(2);
  // Claimed since: the child at the old place finds the messages in the parent's log.
  await perch.ask(parent, 'a prompt');
  const earlier = await fork(perch, parent, { at_seq: 3 });
  expect((await perch.events(earlier.id)).map(({ message }) => message)).toEqual(
    (await perch.events(waiting.id)).map(({ message }) => message),
  );
});

it('forks a fork', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const child = await fork(perch, parent);
  await perch.ask(child.id, 'third');
  const grandchild = await fork(perch, child.id, { metadata: { kind: 'grandchild' } });
  const events = await perch.events(child.id);
  expect(grandchild.parent).toEqual({ session: child.id, at_seq: events.length });
  expect(grandchild.metadata).toEqual({ kind: 'grandchild' });
  expect((await perch.events(grandchild.id)).slice(1)).toEqual(events.slice(1));
  await expectAudited(perch, grandchild.id);
});

it('takes another model and other metadata, and refuses a model that there is not', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const child = await fork(perch, parent, { model: 'offline/demo', metadata: {}, id: 'a-child' });
  expect(child).toMatchObject({ id: 'a-child', model: 'offline/demo', metadata: {} });
  expect((await perch.events(child.id))[0]).toMatchObject({ model: 'offline/demo', metadata: {} });
  const refused = await postFork(perch, parent, { model: 'nobody/x' });
  expect(problem.parse(await refused.json()).code).toBe('unknown_model');
});

it('sees what the parent saw: nothing from before a reset, and all of it before', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const before = (await perch.events(parent)).length;
  await perch.request('POST', `/v1/sessions/${parent}/reset`, {});
  await perch.ask(parent, 'after the reset');
  const old = await fork(perch, parent, { at_seq: before });
  const anew = await fork(perch, parent);
  const ranges = (session: string) =>
    runInDurableObject(sessionStub(perch, session), (_, { storage }) =>
      storage.sql.exec('SELECT first, last FROM surface ORDER BY ordinal').toArray(),
    );
  expect(await ranges(old.id)).toEqual([{ first: 1, last: null }]);
  expect(await ranges(anew.id)).toEqual(await ranges(parent));
  expect((await ranges(anew.id))[0]?.first).toBeGreaterThan(before);
  const middle = await postFork(perch, parent, { at_seq: before + 1 });
  expect(problem.parse(await middle.json())).toMatchObject({ before, after: before + 2 });
});

it('copies bytes: pictures, and events too long for a row', async () => {
  const perch = await createPerch();
  const parent = await perch.open({ agent: 'plain' });
  const data = btoa('picture'.repeat(300_000));
  const long = 'long words '.repeat(60_000);
  await perch.post(parent, {
    content: [
      { type: 'image', media_type: 'image/png', data },
      { type: 'text', text: 'look' },
    ],
  });
  await perch.ask(parent, long);
  const { id } = await fork(perch, parent);
  const lines = (text: string) => text.split('\n').slice(1);
  expect(lines(await readExport(perch, id))).toEqual(lines(await readExport(perch, parent)));
  await expectAudited(perch, id);
});

it('answers a retry as the first time, and another body under the key with a conflict', async () => {
  const perch = await createPerch();
  const parent = await talk(perch);
  const ids = await Promise.all(
    [1, 2, 3].map(async () => {
      const response = await postFork(perch, parent, {}, 'a-key');
      expect(response.status).toBe(201);
      return z.looseObject({ id: z.string() }).parse(await response.json()).id;
    }),
  );
  expect(new Set(ids).size).toBe(1);
  const other = await postFork(perch, parent, { metadata: { a: 'b' } }, 'a-key');
  expect([other.status, problem.parse(await other.json()).code]).toEqual([409, 'idempotency_conflict']);
  const created = await perch.request('POST', '/v1/sessions', {}, { 'idempotency-key': 'a-key' });
  expect(created.status).toBe(409);
  const taken = await postFork(perch, parent, { id: ids[0] });
  expect([taken.status, problem.parse(await taken.json()).code]).toEqual([409, 'session_exists']);
});

it('answers 404 for what is no session of the tenant, and leaves nothing', async () => {
  const perch = await createPerch();
  const stranger = await createPerch();
  const parent = await talk(perch);
  const never = await postFork(stranger, 'never-was', { id: 'child' });
  const foreign = await postFork(stranger, parent, { id: 'child' });
  expect([never.status, foreign.status]).toEqual([404, 404]);
  expect(await foreign.text()).toBe(await never.text());
  expect((await stranger.request('GET', '/v1/sessions/child')).status).toBe(404);
  const narrow = await postFork(perch, parent, { at_seq: 4, id: 'child' });
  expect(narrow.status).toBe(409);
  await runInDurableObject(sessionStub(perch, 'child'), async (_, { storage }) => {
    expect(storage.sql.exec('SELECT count(*) AS n FROM sqlite_master').one()).toMatchObject({ n: 0 });
    expect(await storage.getAlarm()).toBeNull();
  });
});
