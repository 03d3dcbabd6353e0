import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { queuedMessage, receipt, sessionView } from '../../durable/rpc.ts';
import { clearFaults } from '../support/faults.ts';
import { holdAt } from '../support/hold.ts';
import { readJsonAs, readProblem } from '../support/http.ts';
import { createPerch, type Perch } from '../support/perch.ts';
import { openBusy, readSaid, send, untilIdle } from '../support/turns.ts';

afterEach(clearFaults);

const queue = z.object({ data: z.array(queuedMessage) });

async function list(perch: Perch, session: string): Promise<z.infer<typeof queuedMessage>[]> {
  const answer = await perch.request('GET', `/v1/sessions/${session}/messages`);
  return (await readJsonAs(answer, 200, queue)).data;
}

function discard(perch: Perch, session: string, message: string): Promise<Response> {
  return perch.request('DELETE', `/v1/sessions/${session}/messages/${message}`);
}

/** With these messages behind the running turn. */
async function openWith(perch: Perch, queued: [text: string, delivery: string][]) {
  const busy = await openBusy(perch);
  const ids: string[] = [];
  for (const [text, delivery] of queued) ids.push(await send(perch, busy.session, { text, delivery }));
  return { ...busy, ids };
}

const wordsOf = (content: readonly object[]): string =>
  JSON.stringify(content).match(/"text":"([^"]*)"/)?.[1] ?? '';

describe('the inbox', () => {
  it('lists what waits in the order in which turns will take it', async () => {
    const perch = await createPerch();
    const { session, release } = await openWith(perch, [
      ['a', 'followup'],
      ['b', 'inject'],
      ['c', 'followup'],
      ['d', 'steer'],
    ]);
    const waiting = await list(perch, session);
    expect(waiting.map(({ content, queue: name, wakes }) => [wordsOf(content), name, wakes])).toEqual([
      ['b', 'next-step', false],
      ['d', 'next-step', true],
      ['a', 'next-turn', true],
      ['c', 'next-turn', true],
    ]);
    expect(waiting[0]).toMatchObject({ source: { kind: 'user' } });
    await release();
    await untilIdle(perch, session);
    const said = await readSaid(perch, session);
    expect(said).toEqual(['first', 'b', 'd', 'a', 'c']);
    expect(await list(perch, session)).toEqual([]);
  });

  it('lists what was injected while no turn runs', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    for (const text of ['x', 'y']) await send(perch, session, { text, delivery: 'inject' });
    expect((await list(perch, session)).map(({ content }) => wordsOf(content))).toEqual(['x', 'y']);
  });

  it('gives up one message, once, and says which in the log', async () => {
    const perch = await createPerch();
    const { session, ids, release } = await openWith(perch, [
      ['a', 'followup'],
      ['b', 'followup'],
    ]);
    const [a = '', b = ''] = ids;
    const view = await readJsonAs(await discard(perch, session, a), 200, sessionView);
    expect(view).toMatchObject({ id: session, queued: 1 });
    expect(await readProblem(await discard(perch, session, a))).toMatchObject({
      status: 404,
      code: 'message_not_found',
    });
    expect((await list(perch, session)).map(({ id }) => id)).toEqual([b]);
    const discarded = await perch.events(session, 'inbox/discarded');
    expect(discarded).toMatchObject([{ message: { id: a }, cause: `discarded by key:key_${perch.tenant}` }]);
    await release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 2, queued: 0 });
  });

  it('tells a message that a turn took from one that never was', async () => {
    const perch = await createPerch();
    const { session, first, release } = await openWith(perch, []);
    expect(await readProblem(await discard(perch, session, first))).toMatchObject({
      status: 409,
      code: 'message_claimed',
    });
    for (const id of ['msg_never', 'a%20b', 'x'.repeat(500)]) {
      expect(await readProblem(await discard(perch, session, id))).toMatchObject({
        status: 404,
        code: 'message_not_found',
      });
    }
    await release();
    await untilIdle(perch, session);
    expect(await readProblem(await discard(perch, session, first))).toMatchObject({
      code: 'message_claimed',
    });
    expect(await perch.events(session, 'inbox/discarded')).toEqual([]);
  });

  it('gives up everything that waits, each message with its event', async () => {
    const perch = await createPerch();
    const { session, ids, release } = await openWith(perch, [
      ['a', 'followup'],
      ['b', 'steer'],
      ['c', 'inject'],
    ]);
    const all = () => perch.request('DELETE', `/v1/sessions/${session}/messages`);
    expect(await readJsonAs(await all(), 200, sessionView)).toMatchObject({ queued: 0 });
    expect(await readJsonAs(await all(), 200, sessionView)).toMatchObject({ queued: 0 });
    const discarded = (await perch.events(session, 'inbox/discarded')).map(
      ({ message }) => Object(message).id,
    );
    expect(discarded).toEqual(ids);
    await release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1 });
  });

  it('does not give up what a step is being prepared with: the turn keeps it', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const hold = holdAt('step.lanes');
    const message = await send(perch, session, { text: 'taken' });
    await hold.reached();
    expect(await readProblem(await discard(perch, session, message))).toMatchObject({
      code: 'message_claimed',
    });
    const later = await send(perch, session, { text: 'later' });
    await perch.request('DELETE', `/v1/sessions/${session}/messages`);
    hold.release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1, queued: 0 });
    expect((await perch.events(session, 'step/start')).map(({ claimed }) => claimed)).toEqual([[message]]);
    expect(
      (await perch.events(session, 'inbox/discarded')).map(({ message: discarded }) => Object(discarded).id),
    ).toEqual([later]);
  });

  it('leaves an admission that is sent again where the first one went', async () => {
    const perch = await createPerch();
    const { session, release } = await openWith(perch, []);
    const admit = () =>
      perch.request('POST', `/v1/sessions/${session}/messages`, { text: 'once' }, { 'idempotency-key': 'k' });
    const { message } = await readJsonAs(await admit(), 202, receipt);
    await discard(perch, session, message);
    expect(await readJsonAs(await admit(), 202, receipt)).toMatchObject({ message });
    expect(await list(perch, session)).toEqual([]);
    await release();
    expect(await untilIdle(perch, session)).toMatchObject({ turns: 1 });
  });
});
