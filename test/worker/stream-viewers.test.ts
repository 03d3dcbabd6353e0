import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import { objectName } from '../../worker/auth/index.ts';
import { openFeed } from '../../worker/stream/feed.ts';
import { answerSse, formatFrame } from '../../worker/stream/index.ts';
import { createAssembler } from '../support/assembler.ts';
import { readEvents, testConfig } from '../support/http.ts';
import { createPerch, models, type Perch, uniqueModel } from '../support/perch.ts';
import { isStreamFrame, openSocketClient, readFrames, toFrame } from '../support/stream-client.ts';

const STREAM = { accept: 'text/event-stream' };
const isEnd = (frame: Frame): boolean => frame.frame === 'event' && frame.type === 'turn/end';

async function openModel(perch: Perch, answer: { text: string; deltas: number; delay_ms: number }) {
  const model = uniqueModel();
  await models.script(model, [answer]);
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

function assemble(frames: readonly Frame[]) {
  const assembler = createAssembler(0);
  for (const frame of frames.filter(isStreamFrame)) assembler.take(frame);
  return assembler;
}

describe('many viewers of one session', () => {
  it('each get everything, for which a frame is put into words once', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(100);
    const session = await openModel(perch, { text, deltas: 100, delay_ms: 5 });
    const sockets = await Promise.all(
      Array.from({ length: 50 }, () => openSocketClient(perch.request, session)),
    );
    await Promise.all(sockets.map((client) => client.until(({ frame }) => frame === 'ready')));
    const streams = await Promise.all(
      Array.from({ length: 20 }, () =>
        perch.request('GET', `/v1/sessions/${session}/events`, undefined, STREAM),
      ),
    );
    const reading = streams.map((response) => readFrames(response, isEnd));
    const worded = vi.spyOn(JSON, 'stringify');
    await perch.post(session, { text: 'go' });
    await Promise.all(sockets.map((client) => client.until(isEnd)));
    const all = [...sockets.map(({ frames }) => frames), ...(await Promise.all(reading))];
    const isDelta = z.object({ frame: z.literal('delta'), cursor: z.string() });
    const times = worded.mock.calls.filter(([value]) => isDelta.safeParse(value).success).length;
    worded.mockRestore();
    expect(all).toHaveLength(70);
    const events = (await perch.events(session)).length;
    for (const frames of all) {
      const assembler = assemble(frames);
      expect(assembler.seqs()).toHaveLength(events);
      expect(assembler.repeated()).toBe(0);
      expect(assembler.step(1, 1)?.streamed?.text).toBe(text);
    }
    expect(times).toBe(sockets[0]?.frames.filter(({ frame }) => frame === 'delta').length);
    for (const client of sockets) client.close();
  }, 20_000);
});

describe('a reader of server-sent events that does not read', () => {
  it('is dropped with the reason, holds nobody up, and has it all when it resumes', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(60);
    const session = await openModel(perch, { text, deltas: 60, delay_ms: 10 });
    const { sessions, objectNameSecret } = testConfig();
    const object = sessions.get(sessions.idFromName(objectName(objectNameSecret, perch.tenant, session)));
    const feed = await openFeed(object, { after: { seq: 0, part: null } }, 100);
    const response = answerSse(feed, '', (frames) => ({
      text: frames.map(formatFrame).join(''),
      last: false,
    }));
    await perch.post(session, { text: 'go' });
    const events = readEvents(response);
    const seen: Frame[] = [];
    const readOne = async (): Promise<boolean> => {
      const next = await events.next();
      const frame = next.done ? null : toFrame(next.value);
      if (frame !== null) seen.push(frame);
      return next.done === true;
    };
    while (seen.filter(({ frame }) => frame === 'delta').length < 5) await readOne();
    await expect.poll(async () => (await perch.events(session, 'turn/end')).length).toBe(1);
    await scheduler.wait(200);
    while (!(await readOne()));
    const assembler = assemble(seen);
    expect(seen.at(-1)).toEqual({
      frame: 'dropped',
      reason: 'slow reader',
      last_seq: assembler.seqs().at(-1),
    });
    expect(assembler.step(1, 1)?.text.length).toBeLessThan(text.length);
    const more = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
      ...STREAM,
      'last-event-id': assembler.cursor() ?? '',
    });
    for (const frame of (await readFrames(more, isEnd)).filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.step(1, 1)?.text).toBe(text);
    expect(assembler.repeated()).toBe(0);
  });

  it('is not dropped where nothing waits for it', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const { sessions, objectNameSecret } = testConfig();
    const object = sessions.get(sessions.idFromName(objectName(objectNameSecret, perch.tenant, session)));
    const feed = await openFeed(object, { after: { seq: 0, part: null } }, 50);
    while ((await feed.next(20))?.length !== 0);
    await scheduler.wait(150);
    await perch.post(session, { text: 'for later', delivery: 'inject' });
    expect(await feed.next(1_000)).toMatchObject([{ frame: 'event', type: 'inbox/admitted' }]);
    feed.close();
  });
});

describe('an answer of 2,000 pieces', () => {
  it('costs its turn well under 60 rows', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(2_000);
    const session = await openModel(perch, { text, deltas: 2_000, delay_ms: 2 });
    await perch.ask(session, 'go');
    const [end] = await perch.events(session, 'turn/end');
    const { receipt } = z.looseObject({ receipt: z.looseObject({ rows_written: z.number() }) }).parse(end);
    expect(receipt.rows_written).toBeLessThan(45);
    expect(receipt.rows_written).toBeGreaterThan(20);
  }, 30_000);
});
