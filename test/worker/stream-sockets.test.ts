import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import { createBlobs, createSqlPort, migrate } from '../../durable/storage/index.ts';
import { createSubscribers } from '../../durable/subscribers/index.ts';
import { createLog, createStreamBuffer, type MessageId } from '../../durable/transcript/index.ts';
import { createAssembler } from '../support/assembler.ts';
import {
  createPerch,
  createTenantKey,
  models,
  type Perch,
  sessionStub,
  uniqueModel,
} from '../support/perch.ts';
import { isStreamFrame, listen, openSocketClient } from '../support/stream-client.ts';

const isEnd = (frame: Frame): boolean => frame.frame === 'event' && frame.type === 'turn/end';
const isReply =
  (id: string | null) =>
  (frame: Frame): boolean =>
    frame.frame === 'reply' && frame.id === id;

/** A session whose model streams for as long as it is let. */
async function openStreaming(perch: Perch): Promise<string> {
  const model = uniqueModel();
  await models.script(model, [{ text: 'word '.repeat(500), deltas: 500, delay_ms: 10 }], { repeat: true });
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

/** The requests of a key of the same tenant that may only read. */
async function readOnly(perch: Perch): Promise<Perch['request']> {
  const key = await createTenantKey(perch.tenant, ['sessions:read']);
  return (method, path, _, headers = {}) =>
    exports.default.fetch(
      new Request(`https://perch.test${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...headers },
      }),
    );
}

describe('a client of a socket', () => {
  it('cancels the turn, and keeps what it saw', async () => {
    const perch = await createPerch();
    const session = await openStreaming(perch);
    const client = await openSocketClient(perch.request, session);
    await perch.post(session, { text: 'go' });
    await client.until((frame) => frame.frame === 'delta' && frame.offset > 20);
    client.say({ type: 'cancel', id: 'c1', turn: 1 });
    expect(await client.until(isReply('c1'))).toEqual({ frame: 'reply', id: 'c1', error: null });
    await client.until(isEnd);
    const assembler = createAssembler(0);
    for (const frame of client.frames.filter(isStreamFrame)) assembler.take(frame);
    const shown = assembler.step(1, 1);
    expect(shown?.text.length).toBeGreaterThan(20);
    expect(shown?.streamed?.text).toBe(shown?.text);
    const [end] = await perch.events(session, 'turn/end');
    expect(end).toMatchObject({ reason: { kind: 'aborted', by: `key:key_${perch.tenant}` } });
    client.close();
  });

  it('cancels no other turn than the one that it names', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'demo' });
    const client = await openSocketClient(perch.request, session);
    await perch.post(session, { text: 'go' });
    await client.until((frame) => frame.frame === 'delta');
    client.say({ type: 'cancel', id: 'c2', turn: 7 });
    expect(await client.until(isReply('c2'))).toEqual({ frame: 'reply', id: 'c2', error: null });
    await client.until(isEnd);
    expect(await perch.events(session, 'turn/end')).toMatchObject([{ reason: { kind: 'completed' } }]);
    client.close();
  });

  it('may do so after the object slept, and may not with a key that only reads', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    await perch.post(session, { text: 'for later', delivery: 'inject' });
    const reader = await openSocketClient(await readOnly(perch), session);
    const writer = await openSocketClient(perch.request, session);
    await Promise.all([reader, writer].map((client) => client.until(({ frame }) => frame === 'ready')));
    await evictDurableObject(sessionStub(perch, session));
    reader.say({ type: 'cancel', id: 'r', clear_inbox: true });
    expect(await reader.until(isReply('r'))).toMatchObject({ error: { code: 'missing_scope' } });
    expect(await perch.events(session, 'inbox/discarded')).toHaveLength(0);
    await evictDurableObject(sessionStub(perch, session));
    writer.say({ type: 'cancel', id: 'w', clear_inbox: true });
    expect(await writer.until(isReply('w'))).toMatchObject({ error: null });
    const discarded = await reader.until(
      (frame) => frame.frame === 'event' && frame.type === 'inbox/discarded',
    );
    expect(discarded).toMatchObject({
      frame: 'event',
      data: expect.stringContaining(`key:key_${perch.tenant}`),
    });
    for (const client of [reader, writer]) client.close();
  });

  it('is told what it said wrong, and stays', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const client = await openSocketClient(perch.request, session);
    const wrong = ['hello', { type: 'prompt' }, 'x'.repeat(5_000), { type: 'cancel', clear_inbox: 'yes' }];
    for (const message of wrong) client.say(message);
    client.say({ type: 'cancel', id: 'last' });
    await client.until(isReply('last'));
    const replies = client.frames.filter(({ frame }) => frame === 'reply');
    expect(replies.map((frame) => (frame.frame === 'reply' ? frame.error?.code : ''))).toEqual([
      ...wrong.map(() => 'invalid_request'),
      undefined,
    ]);
    client.close();
  });

  it('is refused where its place is none', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    for (const after of ['x', '1.2', '-1']) {
      const answer = await perch.request('GET', `/v1/sessions/${session}/socket?after=${after}`, undefined, {
        upgrade: 'websocket',
      });
      expect(answer.status).toBe(400);
      await answer.body?.cancel();
    }
  });

  it('is answered a ping without waking the object', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const client = await openSocketClient(perch.request, session);
    await client.until(({ frame }) => frame === 'ready');
    const stub = sessionStub(perch, session);
    await evictDurableObject(stub);
    client.say('{"type":"ping"}');
    await client.until(({ frame }) => frame === 'pong');
    const answered = await runInDurableObject(stub, (_, state) =>
      state.getWebSockets().map((socket) => state.getWebSocketAutoResponseTimestamp(socket) !== null),
    );
    expect(answered).toEqual([true]);
    client.say('{"type": "ping"}');
    await client.until((frame) => frame.frame === 'pong' && client.frames.at(-1)?.frame === 'pong');
    client.close();
  });
});

describe('a client that does not acknowledge', () => {
  it('is dropped with the reason while the turn goes on, and has it all when it resumes; one that does never is', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    const text = 'A line of some length that is said again and again. '.repeat(60_000);
    await models.script(model, [{ text, deltas: 400 }]);
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    const mute = await openSocketClient(perch.request, session, { acks: false });
    const good = await openSocketClient(perch.request, session);
    await perch.post(session, { text: 'go' });
    expect(await mute.closed).toEqual({ code: 4408, reason: 'slow reader' });
    await good.until(isEnd);
    expect(await perch.events(session, 'turn/end')).toMatchObject([{ reason: { kind: 'completed' } }]);
    const all = createAssembler(0);
    for (const frame of good.frames.filter(isStreamFrame)) all.take(frame);
    expect(good.frames.filter(({ frame }) => frame === 'probe').length).toBeGreaterThan(5);
    expect(all.step(1, 1)?.text === text && all.step(1, 1)?.streamed?.text === text).toBe(true);
    expect(all.repeated()).toBe(0);

    const assembler = createAssembler(0);
    for (const frame of mute.frames.filter(isStreamFrame)) assembler.take(frame);
    const last = mute.frames.at(-1);
    expect(last).toEqual({ frame: 'dropped', reason: 'slow reader', last_seq: assembler.seqs().at(-1) });
    const sent = mute.frames.reduce((sum, frame) => sum + JSON.stringify(frame).length, 0);
    expect(sent).toBeLessThan(1.6 * 1024 * 1024);
    const again = await openSocketClient(perch.request, session, { after: assembler.cursor() ?? '' });
    await again.until(isEnd);
    for (const frame of again.frames.filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.step(1, 1)?.text === text).toBe(true);
    expect(assembler.repeated()).toBe(0);
    for (const client of [good, again]) client.close();
  }, 30_000);

  it('gets as much of a long log as its window holds, and the rest when it has acknowledged', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    for (let i = 0; i < 6; i++) await perch.ask(session, `${i} ${'x'.repeat(400_000)}`);
    const client = await openSocketClient(perch.request, session, { acks: false });
    await client.until((frame) => frame.frame === 'probe' && frame.n === 3);
    await scheduler.wait(50);
    expect(client.frames.some(({ frame }) => frame === 'ready')).toBe(false);
    const acks = setInterval(() => {
      const probe = client.frames.findLast(({ frame }) => frame === 'probe');
      if (probe?.frame === 'probe') client.say({ type: 'ack', n: probe.n });
    }, 5);
    await client.until(({ frame }) => frame === 'ready');
    clearInterval(acks);
    const assembler = createAssembler(0);
    for (const frame of client.frames.filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.seqs()).toHaveLength((await perch.events(session)).length);
    client.close();
  }, 30_000);

  it('does not wait for ever with something held back from it', async () => {
    const { SESSIONS } = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() }).parse(env);
    await runInDurableObject(SESSIONS.get(SESSIONS.newUniqueId()), async (_, { storage }) => {
      const sql = createSqlPort(storage);
      migrate(sql);
      const log = createLog(sql, createBlobs(sql), Date.now);
      const limits = { probeBytes: 100, windowBytes: 400, mostBytes: 1e9, slowMs: 30 };
      const subscribers = createSubscribers(
        {
          log,
          stream: createStreamBuffer(sql, log, Date.now),
          now: Date.now,
          sockets: {
            acceptWebSocket: (socket) => socket.accept(),
            getWebSockets: () => [],
            setWebSocketAutoResponse: () => undefined,
          },
          cancel: () => Promise.reject(new Error('nobody cancels here')),
        },
        limits,
      );
      log.observe(subscribers.publishCommitted);
      for (let i = 0; i < 20; i++) {
        log.commit((append) =>
          append({
            ...{ type: 'inbox/admitted', delivery: 'inject', source: { kind: 'user' }, wakes: false },
            message: `msg_${i}` as MessageId,
          }),
        );
      }
      const { webSocket } = subscribers.accept(new Request('https://session/socket?after=0'));
      if (webSocket === null) throw new Error('no socket');
      const client = listen(webSocket, false);
      expect(await client.closed).toEqual({ code: 4408, reason: 'slow reader' });
      const events = client.frames.filter(({ frame }) => frame === 'event');
      expect(client.frames.at(-1)).toEqual({
        frame: 'dropped',
        reason: 'slow reader',
        last_seq: events.length,
      });
      expect(events.length).toBeGreaterThan(0);
      expect(events.length).toBeLessThan(20);
    });
  });
});
