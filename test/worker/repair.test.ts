/** Faults are planted in a session's rows; a repair finds and mends them, and nothing is lost in silence. */
import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import { type RepairReport, repairReport, sessionView } from '../../durable/rpc.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { holdAt, killAt } from '../support/hold.ts';
import { readJsonAs, readProblem } from '../support/http.ts';
import {
  createPerch,
  models,
  type Perch,
  type SeenEvent,
  sessionStub,
  uniqueModel,
} from '../support/perch.ts';
import { openBusy, readClaims, readEnds, readView, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

const GARBAGE = '{"type":"tool/re';

async function repair(
  perch: Perch,
  session: string,
  headers: Record<string, string> = {},
): Promise<RepairReport> {
  const answer = await perch.request('POST', `/v1/sessions/${session}/repair`, {}, headers);
  return readJsonAs(answer, 200, repairReport);
}

/** Runs statements in the session's database, behind its back. */
function plant(perch: Perch, session: string, ...statements: string[]): Promise<void> {
  return runInDurableObject(sessionStub(perch, session), (_, { storage }) => {
    for (const statement of statements) storage.sql.exec(statement);
  });
}

/** The same while its work stands still, and puts the object to sleep again. */
async function plantAsleep(perch: Perch, session: string, ...statements: string[]): Promise<void> {
  planFaults((point) =>
    ['turn.resumed', 'turn.starting'].includes(point) ? new Promise<void>(() => undefined) : undefined,
  );
  await plant(perch, session, ...statements);
  clearFaults();
  await abortAllDurableObjects();
}

/** Requests of before the fault may not be rebuilt any more; those after the repair can. */
async function checkAudit(perch: Perch, session: string): Promise<void> {
  const { findings } = auditSession(parseExport(await exportOf(perch, session)));
  const mendedAt = (await perch.events(session, 'command/run')).at(-1)?.seq ?? 0;
  expect(findings.filter(({ seq }) => seq > mendedAt)).toEqual([]);
  // For the audit that follows every test.
  expect((await perch.request('DELETE', `/v1/sessions/${session}`)).status).toBe(204);
}

/** Stops the session in the middle of a turn with a call of a tool, at this point, and leaves it asleep there. */
async function stopIn(perch: Perch, point: string): Promise<string> {
  const session = await perch.open({ agent: 'plain' });
  await killAt(point, () =>
    send(perch, session, { text: 'go\ncall echo {"text":"a"}\ncall effect {"text":"b"}' }),
  );
  return session;
}

async function exportOf(perch: Perch, session: string): Promise<string> {
  const answer = await perch.request('GET', `/v1/sessions/${session}/export?include=blobs`);
  expect(answer.status).toBe(200);
  return new TextDecoder().decode(await answer.arrayBuffer());
}

/** Every call that the model sees has one result after it, and every result a call before it. */
function checkPairs(events: SeenEvent[]): void {
  const shadowed = new Set(
    events.flatMap(({ surface }) => (Object(surface).replace as number[] | undefined) ?? []),
  );
  const calls = new Set<string>();
  for (const { seq, type, content, call } of events.filter(({ seq: at }) => !shadowed.has(at))) {
    if (type === 'assistant/message') {
      for (const block of content as { type: string; id: string }[]) {
        if (block.type === 'tool-call') calls.add(block.id);
      }
    }
    if (type === 'tool/result') expect(calls.delete(String(call)), `the call of ${seq}`).toBe(true);
  }
  expect(calls.size).toBe(0);
}

async function nextTurnWorks(perch: Perch, session: string): Promise<void> {
  expect((await perch.ask(session, 'and on')).reason).toEqual({ kind: 'completed' });
  checkPairs(await perch.events(session));
  await evictDurableObject(sessionStub(perch, session));
  expect((await perch.ask(session, 'and on again')).reason).toEqual({ kind: 'completed' });
}

describe('a repair', () => {
  it('finds nothing in a healthy session, and changes nothing', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'call echo {"text":"a"}');
    await send(perch, session, { text: 'a note', delivery: 'inject' });
    const before = await exportOf(perch, session);
    const report = await repair(perch, session);
    expect(report).toEqual({ repaired: [], session: await readView(perch, session) });
    expect(await exportOf(perch, session)).toBe(before);
    await nextTurnWorks(perch, session);
  });

  it.each([
    ['is not JSON', "UPDATE events SET data = '{\"type\":\"tool/re' WHERE type = 'tool/call'"],
    [
      'is no member of the union',
      `UPDATE events SET data = '{"type":"turn/start"}' WHERE type = 'turn/start'`,
    ],
    [
      'says another type',
      `UPDATE events SET data = '{"type":"step/end","turn":1,"step":1}' WHERE type = 'step/start'`,
    ],
    ['is an answer with calls', "UPDATE events SET data = 'x' WHERE type = 'assistant/message'"],
    ['is a header', "UPDATE events SET data = 'x' WHERE type = 'request/header'"],
    ['is missing', "DELETE FROM events WHERE type = 'assistant/message'"],
    ['is all of the turn', "UPDATE events SET data = 'x' WHERE seq >= (SELECT open_turn_seq FROM state)"],
  ])('closes an open turn of which a row %s', async (_, fault) => {
    const perch = await createPerch();
    const session = await stopIn(perch, 'tool.started');
    await plantAsleep(perch, session, fault);
    // Nothing throws for ever: what can be read is read, and prompts are told what is wrong.
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(true);
    expect(await readView(perch, session)).toMatchObject({ status: 'damaged', turns: 1 });
    const refused = await readProblem(await perch.post(session, { text: 'hello' }));
    expect(refused).toMatchObject({ status: 500, code: 'session_damaged' });
    expect(refused.detail).toContain('open turn');
    parseExport(await exportOf(perch, session));
    expect((await perch.request('GET', `/v1/sessions/${session}/events?limit=1000`)).status).toBe(200);

    const { repaired, session: view } = await repair(perch, session);
    expect(repaired).toContain('Turn 1 could not go on and was closed.');
    expect(view).toMatchObject({ status: 'idle', turns: 1 });
    const events = await perch.events(session);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((__, i) => i + 1));
    expect(events.filter(({ type }) => type === 'turn/start')).toMatchObject([{ turn: 1 }]);
    expect(await readEnds(perch, session)).toEqual([[1, 'interrupted']]);
    expect(events.at(-1)).toMatchObject({ type: 'command/done', command: 'repair', result: repaired });
    checkPairs(events);
    await nextTurnWorks(perch, session);
    expect((await repair(perch, session)).repaired).toEqual([]);
    await checkAudit(perch, session);
  });

  it('keeps the bytes of what it could not read, under the digest that it names', async () => {
    const perch = await createPerch();
    const session = await stopIn(perch, 'tool.started');
    await plantAsleep(perch, session, `UPDATE events SET data = '${GARBAGE}' WHERE type = 'tool/call'`);
    const { repaired } = await repair(perch, session);
    const digest = sha256Hex(GARBAGE);
    expect(repaired.join()).toContain(`kept as blob ${digest}`);
    await runInDurableObject(sessionStub(perch, session), (_, { storage }) => {
      const [row] = storage.sql.exec<{ bytes: ArrayBuffer }>(
        'SELECT bytes FROM blobs WHERE digest = ?',
        digest,
      );
      expect(new TextDecoder().decode(row?.bytes)).toBe(GARBAGE);
    });
  });

  it('lets a turn go on whose rows can be read, when only the state row lost it', async () => {
    const perch = await createPerch();
    const session = await stopIn(perch, 'tool.started');
    await plantAsleep(perch, session, 'UPDATE state SET open_turn_seq = 0');
    const { repaired } = await repair(perch, session);
    expect(repaired).toEqual([
      'The row that says where the session stands was wrong and was written from the log.',
    ]);
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1 });
    expect(await readEnds(perch, session)).toEqual([[1, 'completed']]);
    checkPairs(await perch.events(session));
  });

  it.each([
    ['names no start of a turn', 'UPDATE state SET open_turn_seq = 1'],
    ['names a seq that is not there', 'UPDATE state SET open_turn_seq = 9999'],
    ['counts other turns', 'UPDATE state SET turns = 7'],
    ['is not to be read', "UPDATE state SET usage = 'x', spent = '{}'"],
    ['is missing', 'DELETE FROM state'],
    ['names another header', 'UPDATE state SET header_seq = 2'],
  ])('writes the state row from the log where it %s', async (_, fault) => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'one');
    const before = await readView(perch, session);
    await plant(perch, session, fault);
    await abortAllDurableObjects();
    const { repaired, session: after } = await repair(perch, session);
    expect(repaired.join()).toContain('where the session stands');
    expect({ ...after, last_seq: 0 }).toEqual({ ...before, last_seq: 0 });
    await nextTurnWorks(perch, session);
  });

  it('mends the row that says what the session is, from the log', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain', metadata: { ticket: 'T-1' } });
    await plant(perch, session, "UPDATE session SET metadata = 'x'");
    await abortAllDurableObjects();
    expect(await readProblem(await perch.request('GET', `/v1/sessions/${session}`))).toMatchObject({
      code: 'session_damaged',
    });
    expect((await repair(perch, session)).session).toMatchObject({ metadata: { ticket: 'T-1' } });
    await nextTurnWorks(perch, session);
  });

  it('removes text that no open step streams', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'one');
    await plant(
      perch,
      session,
      "INSERT INTO stream (turn, step, attempt, kind, start, text) VALUES (1, 1, 1, 'text', 0, 'old')",
    );
    expect((await repair(perch, session)).repaired).toEqual([
      '1 rows of text that no open step streams were removed.',
    ]);
    await nextTurnWorks(perch, session);
  });

  it.each([
    ['overlap', 'INSERT INTO surface (ordinal, first, last) VALUES (2, 2, 4)'],
    ['point beyond the log', 'UPDATE surface SET first = 5000'],
    ['are gone', 'DELETE FROM surface'],
    ['end', 'UPDATE surface SET last = 3'],
  ])("writes the surface's ranges from the log where they %s", async (_, fault) => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [{ text: 'an answer' }], { repeat: true });
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    await perch.ask(session, 'the first word');
    await plant(perch, session, fault);
    await abortAllDurableObjects();
    expect((await repair(perch, session)).repaired).toEqual([
      'The ranges of what models see were wrong and were written from the log.',
    ]);
    await perch.ask(session, 'the second word');
    const sent = (await models.requests(model)).at(-1)?.body ?? '';
    expect(sent.split('the first word')).toHaveLength(2);
    await nextTurnWorks(perch, session);
  });

  it('takes messages out of the inbox that cannot be read, and answers the others', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const ids: string[] = [];
    const hold = holdAt('turn.starting');
    for (const text of ['one', 'two', 'three']) ids.push(await send(perch, session, { text }));
    const [one = '', two = '', three = ''] = ids;
    await abortAllDurableObjects();
    hold.release();
    await plantAsleep(
      perch,
      session,
      `UPDATE inbox SET message = '{"id":' WHERE id = '${one}'`,
      // JSON, and like a message but for a block of no type.
      `UPDATE inbox SET message = json_set(message, '$.content[0].type', 'poem') WHERE id = '${two}'`,
    );
    await runDurableObjectAlarm(sessionStub(perch, session));
    await untilIdle(perch, session);
    expect(await readProblem(await perch.post(session, { text: 'four' }))).toMatchObject({
      code: 'session_damaged',
    });
    const { repaired } = await repair(perch, session);
    expect(repaired).toHaveLength(2);
    expect(repaired[0]).toContain(`Message ${one} in the inbox could not be read`);
    const discarded = await perch.events(session, 'inbox/discarded');
    expect(discarded.map(({ message }) => Object(message).id)).toEqual([one, two]);
    await send(perch, session, { text: 'four' });
    await untilIdle(perch, session);
    const claims = (await readClaims(perch, session)).flatMap(([, , claimed]) => claimed);
    expect(claims).toContain(three);
    for (const id of [one, two]) expect(claims).not.toContain(id);
    await nextTurnWorks(perch, session);
  });

  it('asks no model for a message that cannot be read, and starts one turn for it at most', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [{ text: 'an answer' }], { repeat: true });
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    const hold = holdAt('turn.starting');
    const message = await send(perch, session, { text: 'only one' });
    await abortAllDurableObjects();
    hold.release();
    const spoil = `UPDATE inbox SET message = json_set(message, '$.content[0].type', 'poem')`;
    await plantAsleep(perch, session, spoil);
    await runDurableObjectAlarm(sessionStub(perch, session));
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1 });
    expect(await perch.events(session, 'turn/end')).toMatchObject([
      { reason: { kind: 'error', error: { code: 'session_damaged' } } },
    ]);
    expect(await models.requests(model)).toEqual([]);
    expect((await repair(perch, session)).repaired.join()).toContain(message);
    await nextTurnWorks(perch, session);
  });

  it('accounts for a message that the inbox lost, and does not say one twice that it kept too long', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'said');
    const lost = await send(perch, session, { text: 'lost', delivery: 'inject' });
    const [[, , [said = ''] = []] = []] = await readClaims(perch, session);
    await plant(
      perch,
      session,
      `UPDATE inbox SET id = '${said}', message = json_set(message, '$.id', '${said}')`,
    );
    await evictDurableObject(sessionStub(perch, session));
    const { repaired, session: view } = await repair(perch, session);
    expect(repaired).toHaveLength(2);
    expect(view.queued).toBe(0);
    expect(await perch.events(session, 'inbox/discarded')).toMatchObject([{ message: { id: lost } }]);
    await nextTurnWorks(perch, session);
  });

  it('arms the alarm that is missing while a turn runs, and leaves the turn alone', async () => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    await runInDurableObject(sessionStub(perch, session), async (_, { storage }) => {
      await storage.deleteAlarm();
    });
    const { repaired, session: view } = await repair(perch, session);
    expect(repaired).toEqual(['No alarm guarded the work; one is armed.']);
    expect(view.status).toBe('running');
    await runInDurableObject(sessionStub(perch, session), async (_, { storage }) => {
      expect(await storage.getAlarm()).not.toBeNull();
    });
    expect((await repair(perch, session)).repaired).toEqual([]);
    await release();
    await untilIdle(perch, session);
    expect(await readEnds(perch, session)).toEqual([[1, 'completed']]);
    expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
  });

  it('mends old rows too, and takes what they leave of a step off the surface', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(
      model,
      [
        {
          text: 'calling',
          tool_calls: [{ id: 'call-that-is-lost', name: 'echo', arguments: '{"text":"a"}' }],
        },
        { text: 'done' },
      ],
      { repeat: true },
    );
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    await perch.ask(session, 'the first word');
    await plant(perch, session, "UPDATE events SET data = 'x' WHERE type = 'tool/result'");
    await abortAllDurableObjects();
    // The session opens, and its turns say what is wrong.
    const failed = await perch.ask(session, 'the second word');
    expect(failed.reason).toMatchObject({ kind: 'error', error: { code: 'session_damaged' } });
    const { repaired } = await repair(perch, session);
    expect(repaired.join('\n')).toMatch(/a tool\/result, could not be read.*\n?.*a note takes their place/s);
    await perch.ask(session, 'the third word');
    const sent = (await models.requests(model)).at(-1)?.body ?? '';
    expect(sent).toContain('the first word');
    expect(sent).toContain('lost to a fault');
    expect(sent).not.toContain('call-that-is-lost');
    await checkAudit(perch, session);
  });

  it('is made once, wherever it is killed', async () => {
    for (const point of ['repair.checked', 'repair.committed']) {
      const perch = await createPerch();
      const session = await stopIn(perch, 'tool.started');
      await plantAsleep(perch, session, "UPDATE events SET data = 'x' WHERE type = 'tool/call'");
      const key = { 'idempotency-key': 'repair-1' };
      await killAt(point, () => perch.request('POST', `/v1/sessions/${session}/repair`, {}, key));
      const { repaired } = await repair(perch, session, key);
      expect(repaired).toContain('Turn 1 could not go on and was closed.');
      expect(await repair(perch, session, key)).toMatchObject({ repaired });
      expect(await perch.events(session, 'command/run')).toHaveLength(1);
      await nextTurnWorks(perch, session);
    }
  });

  it('reads a long log in little memory and in short order', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.ask(session, 'one');
    const { last_seq } = await readView(perch, session);
    await plant(
      perch,
      session,
      `WITH RECURSIVE n(i) AS (SELECT ${last_seq + 1} UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
       INSERT INTO events (seq, at, type, data) SELECT i, 0, 'command/run',
         json_object('type', 'command/run', 'command', 'x', 'by', 'y') FROM n`,
      "UPDATE events SET data = 'x' WHERE seq = 15000",
    );
    await abortAllDurableObjects();
    const { repaired } = await repair(perch, session);
    expect(repaired).toHaveLength(1);
    expect(repaired[0]).toContain('Event 15000, a command/run, could not be read');
    await nextTurnWorks(perch, session);
  });
});

describe('a damaged session', () => {
  it('can be erased, whatever is damaged', async () => {
    for (const fault of ["UPDATE session SET metadata = 'x'", 'DELETE FROM state', 'DROP TABLE inbox']) {
      const perch = await createPerch();
      const session = await stopIn(perch, 'tool.started');
      await plantAsleep(perch, session, "UPDATE events SET data = 'x'", fault);
      expect((await perch.request('DELETE', `/v1/sessions/${session}`)).status).toBe(204);
      expect((await perch.request('GET', `/v1/sessions/${session}`)).status).toBe(404);
      expect(await (await perch.request('GET', '/v1/sessions')).json()).toMatchObject({ data: [] });
      expect(await runDurableObjectAlarm(sessionStub(perch, session))).toBe(false);
    }
  });

  it('is another tenant to nobody: a stranger gets a 404', async () => {
    const perch = await createPerch();
    const session = await stopIn(perch, 'tool.started');
    await plantAsleep(perch, session, "UPDATE events SET data = 'x' WHERE type = 'tool/call'");
    const stranger = await createPerch();
    for (const [method, path] of [
      ['POST', '/repair'],
      ['POST', '/reset'],
      ['GET', ''],
    ] as const) {
      const body = method === 'POST' ? {} : undefined;
      const answer = await stranger.request(method, `/v1/sessions/${session}${path}`, body);
      expect(await readProblem(answer)).toMatchObject({ code: 'session_not_found' });
    }
    expect(await readProblem(await perch.request('POST', `/v1/sessions/${session}/reset`, {}))).toMatchObject(
      {
        code: 'session_damaged',
      },
    );
    await repair(perch, session);
    const reset = await perch.request('POST', `/v1/sessions/${session}/reset`, {});
    await readJsonAs(reset, 200, sessionView);
    await nextTurnWorks(perch, session);
  });

  it('that damaged itself under a running turn ends the turn and is found by the next start', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const hold = holdAt('tool.started');
    await send(perch, session, { text: 'call echo {"text":"a"}' });
    await hold.reached();
    await plant(perch, session, "UPDATE events SET data = 'x' WHERE type = 'assistant/message'");
    hold.release();
    await untilIdle(perch, session);
    await repair(perch, session);
    await nextTurnWorks(perch, session);
    await checkAudit(perch, session);
  });
});
