import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sessionView } from '../../durable/rpc.ts';
import { clearFaults } from '../support/faults.ts';
import { killAt } from '../support/hold.ts';
import { readJsonAs, readProblem } from '../support/http.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';
import { openBusy, readClaims, readView, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

const reset = (perch: Perch, session: string, headers: Record<string, string> = {}) =>
  perch.request('POST', `/v1/sessions/${session}/reset`, {}, headers);

const wire = z.looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) });

/** What the model of this name was sent, without the system text: roles and texts. */
async function readSent(model: string): Promise<string[][]> {
  return (await models.requests(model)).map(({ body }) =>
    wire
      .parse(JSON.parse(body))
      .messages.filter(({ role }) => role !== 'system')
      .map(({ content }) => JSON.stringify(content)),
  );
}

async function openWithModel(perch: Perch): Promise<{ session: string; model: string }> {
  const model = uniqueModel();
  await models.script(model, [{ text: 'an answer' }], { repeat: true });
  return { session: await perch.open({ agent: 'stand-in', model: `stand-in/${model}` }), model };
}

describe('a reset', () => {
  it('shows the model nothing from before, in this life of the object and in the next', async () => {
    const perch = await createPerch();
    const { session, model } = await openWithModel(perch);
    await perch.ask(session, 'before');
    const view = await readJsonAs(await reset(perch, session), 200, sessionView);
    expect(view).toMatchObject({ status: 'idle', turns: 1 });
    expect(view.last_seq).toBe((await readView(perch, session)).last_seq);
    await perch.ask(session, 'after');
    await evictDurableObject(sessionStub(perch, session));
    await perch.ask(session, 'later');
    const [, afterReset = [], later = []] = await readSent(model);
    expect(afterReset.join()).toContain('after');
    expect(afterReset.join()).not.toContain('before');
    expect(later.slice(0, afterReset.length)).toEqual(afterReset);
    expect(later.join()).not.toContain('before');
    // The log has it all.
    const events = await perch.events(session);
    expect(events.filter(({ type }) => type.startsWith('command/'))).toMatchObject([
      { type: 'command/run', command: 'reset', by: `key:key_${perch.tenant}` },
      { type: 'command/done', command: 'reset' },
    ]);
    expect(JSON.stringify(events)).toContain('before');
  });

  it('is refused while a turn is open, and keeps what waits', async () => {
    const perch = await createPerch();
    const { session, release } = await openBusy(perch);
    expect(await readProblem(await reset(perch, session))).toMatchObject({
      status: 409,
      code: 'session_busy',
    });
    await release();
    await untilIdle(perch, session);
    const note = await send(perch, session, { text: 'a note', delivery: 'inject' });
    expect(await readJsonAs(await reset(perch, session), 200, sessionView)).toMatchObject({ queued: 1 });
    const prompt = await send(perch, session, { text: 'go on' });
    await untilIdle(perch, session);
    expect((await readClaims(perch, session)).at(-1)).toEqual([2, 1, [note, prompt]]);
  });

  it('happens once under its key', async () => {
    const perch = await createPerch();
    const { session } = await openWithModel(perch);
    await perch.ask(session, 'before');
    const key = { 'idempotency-key': 'reset-1' };
    await killAt('reset.committed', () => reset(perch, session, key));
    const first = await readJsonAs(await reset(perch, session, key), 200, sessionView);
    await perch.ask(session, 'after');
    expect(await readJsonAs(await reset(perch, session, key), 200, sessionView)).toEqual(first);
    expect(await perch.events(session, 'command/done')).toHaveLength(1);
    // The key is the reset's alone, though a cancel's body is the same.
    const other = await perch.request('POST', `/v1/sessions/${session}/cancel`, {}, key);
    expect(await readProblem(other)).toMatchObject({ code: 'idempotency_conflict' });
  });

  it('reads no transcript, and leaves one range that begins after it', async () => {
    const perch = await createPerch();
    const { session } = await openWithModel(perch);
    await perch.ask(session, 'before');
    const stub = sessionStub(perch, session);
    await runInDurableObject(stub, (_, { storage }) => {
      // Anything that read it would fail.
      storage.sql.exec("UPDATE events SET data = 'no json' WHERE type = 'assistant/message'");
    });
    const { last_seq } = await readJsonAs(await reset(perch, session), 200, sessionView);
    await runInDurableObject(stub, (_, { storage }) => {
      expect(storage.sql.exec('SELECT first, last FROM surface').toArray()).toEqual([
        { first: last_seq + 1, last: null },
      ]);
    });
    expect((await perch.ask(session, 'after')).reason).toEqual({ kind: 'completed' });
    // No audit could read it.
    expect((await perch.request('DELETE', `/v1/sessions/${session}`)).status).toBe(204);
  });

  it('has the catalog of skills published anew', async () => {
    await publishSkills({ standup: 'Write a stand-up.' });
    const perch = await createPerch();
    const { session } = await openWithModel(perch);
    await perch.ask(session, 'one');
    await perch.ask(session, 'two');
    await reset(perch, session);
    await perch.ask(session, 'three');
    const kinds = (await perch.events(session, 'user/message')).map(({ turn, message }) => [
      turn,
      z.looseObject({ source: z.looseObject({ kind: z.string() }) }).parse(message).source.kind,
    ]);
    expect(kinds.filter(([, kind]) => kind === 'skill-catalog')).toEqual([
      [1, 'skill-catalog'],
      [3, 'skill-catalog'],
    ]);
  });
});
