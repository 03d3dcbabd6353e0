import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { receipt } from '../../durable/rpc.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import {
  call,
  openSession,
  readEvents,
  readJsonAs,
  readProblem,
  readUntil,
  seedKey,
  uniqueTenant,
} from '../support/http.ts';

const STREAM = { accept: 'text/event-stream' };
const answerBody = z.looseObject({
  receipt,
  turn: z.number(),
  reason: z.looseObject({ kind: z.string() }),
  text: z.string(),
});
const eventBody = z.looseObject({ seq: z.number(), type: z.string(), turn: z.number().optional() });

const key = await seedKey(uniqueTenant());

async function collect(response: Response) {
  const events = [];
  for await (const event of readEvents(response)) events.push(event);
  return events;
}

describe('a message', () => {
  it('is answered with a receipt, whose seq is where its answer begins', async () => {
    const path = `/v1/sessions/${await openSession(key)}`;
    const kept = await readJsonAs(
      await call(`${path}/messages`, { key, body: { text: 'hi' } }),
      202,
      receipt,
    );
    expect(kept).toMatchObject({
      delivery: 'followup',
      message: expect.stringMatching(/^msg_[A-Za-z0-9_-]{22}$/),
    });
    const answer = await call(`${path}/events?after=${kept.seq}`, { key, headers: STREAM });
    const types = (await readUntil(answer, 'turn/end')).map(({ event }) => event);
    expect(types).toEqual(
      expect.arrayContaining(['turn/start', 'user/message', 'assistant/message', 'turn/end']),
    );
  });

  it('streams its turn: the receipt first, then the turn from its start to its end, and closes', async () => {
    const path = `/v1/sessions/${await openSession(key)}/messages`;
    const answer = await call(path, { key, body: { text: 'hello there' }, headers: STREAM });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const events = await collect(answer);
    expect(events[0]?.event).toBe('receipt');
    const kept = receipt.parse(JSON.parse(events[0]?.data ?? ''));
    expect(events[0]?.id).toBe(String(kept.seq));
    const logged = events.slice(1).filter(({ event }) => event !== 'delta');
    expect(logged[0]?.event).toBe('turn/start');
    expect(logged.at(-1)?.event).toBe('turn/end');
    const seqs = logged.map(({ data }) => eventBody.parse(JSON.parse(data)).seq);
    expect(seqs).toEqual(seqs.map((_, i) => (seqs[0] ?? 0) + i));
    expect(logged.map(({ id }) => id)).toEqual(seqs.map(String));
    const deltas = events.filter(({ event }) => event === 'delta');
    expect(deltas.every(({ id }) => /^\d+(\.\d+){5}$/.test(id ?? ''))).toBe(true);
    const said = z.object({ message: z.object({ id: z.string() }) });
    const mine = logged.find(({ event }) => event === 'user/message');
    expect(said.parse(JSON.parse(mine?.data ?? '')).message.id).toBe(kept.message);
  });

  it('streams no turn but its own', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'demo' })}/messages`;
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((text) => call(path, { key, body: { text }, headers: STREAM })),
    );
    const streams = await Promise.all(answers.map(collect));
    const turns = streams.map((events) => {
      const bodies = events
        .slice(1)
        .map(({ data }) => z.looseObject({ turn: z.number() }).parse(JSON.parse(data)));
      return [...new Set(bodies.map(({ turn }) => turn))];
    });
    expect(turns.flat().sort()).toEqual([1, 2, 3]);
    for (const events of streams) {
      expect(events[1]?.event).toBe('turn/start');
      expect(events.at(-1)?.event).toBe('turn/end');
    }
  });

  it('streams the deltas that make up the answer', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'demo' })}/messages`;
    const events = await collect(await call(path, { key, body: { text: 'tell me' }, headers: STREAM }));
    const delta = z.object({ offset: z.number(), kind: z.string(), text: z.string() });
    const deltas = events
      .filter(({ event }) => event === 'delta')
      .map(({ data }) => delta.parse(JSON.parse(data)))
      .filter(({ kind }) => kind === 'text');
    let text = '';
    for (const piece of deltas) {
      expect(piece.offset).toBe(text.length);
      text += piece.text;
    }
    const message = events.findLast(({ event }) => event === 'assistant/message');
    const said = z.object({
      content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    });
    const { content } = said.parse(JSON.parse(message?.data ?? ''));
    expect(text).toBe(content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
    expect(text.length).toBeGreaterThan(0);
  });

  it('is answered in one response where the client prefers to wait', async () => {
    const path = `/v1/sessions/${await openSession(key)}/messages`;
    const response = await call(path, { key, body: { text: 'hi' }, headers: { prefer: 'wait=20' } });
    expect(response.headers.get('preference-applied')).toBe('wait=20');
    const answered = await readJsonAs(response, 200, answerBody);
    expect(answered).toMatchObject({ turn: 1, reason: { kind: 'completed' } });
    expect(answered.text.length).toBeGreaterThan(0);
  });

  it('gets its receipt where the time to wait runs out', async () => {
    const path = `/v1/sessions/${await openSession(key)}/messages`;
    const response = await call(path, { key, body: { text: 'hi' }, headers: { prefer: 'wait=0' } });
    expect(await readJsonAs(response, 202, receipt)).toMatchObject({ delivery: 'followup' });
  });

  it('that wakes nobody waits, and its stream with it', async () => {
    const path = `/v1/sessions/${await openSession(key)}/messages`;
    const inject = { text: 'for later', delivery: 'inject' };
    const waiting = await call(path, { key, body: inject, headers: { prefer: 'wait=1' } });
    expect(waiting.status).toBe(202);
    const kept = receipt.parse(await waiting.json());
    const events = await collect(await call(path, { key, body: { text: 'now' }, headers: STREAM }));
    const claimed = events.find(({ event }) => event === 'step/start');
    expect(claimed?.data).toContain(kept.message);
  });

  it('streams the same turn to a retry under its key, also when it is over', async () => {
    const path = `/v1/sessions/${await openSession(key)}/messages`;
    const request = { key, body: { text: 'once' }, headers: { ...STREAM, 'idempotency-key': 'k' } };
    const first = await collect(await call(path, request));
    await collect(await call(path, { key, body: { text: 'something else' }, headers: STREAM }));
    const again = await collect(await call(path, request));
    const logged = (events: typeof first) => events.filter(({ event }) => event !== 'delta');
    expect(logged(again)).toEqual(logged(first));
  });

  it('ends its stream with the reason where its turn fails', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'unknown-variable' })}/messages`;
    const events = await collect(await call(path, { key, body: { text: 'hi' }, headers: STREAM }));
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({
      type: 'turn/end',
      reason: { kind: 'error', error: { code: 'prompt_unknown_variable' } },
    });
  });

  it('that is discarded ends its stream', async () => {
    const path = `/v1/sessions/${await openSession(key)}`;
    const inject = { text: 'for later', delivery: 'inject' };
    const answer = await call(`${path}/messages`, { key, body: inject, headers: STREAM });
    const reading = collect(answer);
    await call(`${path}/cancel`, { key, body: { clear_inbox: true } });
    expect((await reading).map(({ event }) => event)).toEqual(['receipt', 'inbox/discarded']);
  });

  it('is answered though the client goes away', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'demo' })}`;
    const answer = await call(`${path}/messages`, { key, body: { text: 'hi' }, headers: STREAM });
    await readUntil(answer, 'receipt');
    const log = await call(`${path}/events`, { key, headers: STREAM });
    const end = (await readUntil(log, 'turn/end')).at(-1);
    expect(JSON.parse(end?.data ?? '')).toMatchObject({ reason: { kind: 'completed' } });
  });

  it('may carry bytes, which are kept as they came, and are refused where the model does not take them', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'stand-in' })}`;
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const data = btoa(String.fromCharCode(...bytes));
    const send = (block: object) =>
      call(`${path}/messages`, {
        key,
        body: { content: [{ type: 'text', text: 'look' }, block] },
        headers: STREAM,
      });
    const image = { type: 'image', media_type: 'image/png', data, name: 'a.png' };
    const events = await readUntil(await send(image), 'user/message');
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({
      message: {
        source: { kind: 'user' },
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', media_type: 'image/png', name: 'a.png', bytes: 256, blob: sha256Hex(bytes) },
        ],
      },
    });
    const refused = await send({ type: 'file', media_type: 'application/zip', data });
    expect(await readProblem(refused)).toMatchObject({ status: 422, code: 'media_not_accepted' });
  });
});
