/** A client that comes and goes: nothing is missing, nothing comes twice, whatever happened to the object meanwhile. */
import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import { measureReconnect } from '../../scripts/bench/measure/reconnect.ts';
import { createAssembler } from '../support/assembler.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { readEvents } from '../support/http.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { chooseSeed, createRandom, type Random } from '../support/random.ts';
import { isStreamFrame, openSocketClient, readFrames, toFrame } from '../support/stream-client.ts';

afterEach(clearFaults);

const seed = chooseSeed();
const STREAM = { accept: 'text/event-stream' };
const said = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});

/** Words of several scripts, pairs of surrogates among them. */
function composeText(random: Random, words: number): string {
  const from = ['plain ', 'naïve ', '会話 ', '👩‍🚀 ', 'line\n', '"quoted" ', 'a longer word of text '];
  return Array.from({ length: words }, () => random.pick(from)).join('');
}

async function openStreaming(
  perch: Perch,
  answer: { text: string; reasoning?: string; deltas: number; delay_ms: number },
  more: object[] = [],
) {
  const model = uniqueModel();
  await models.script(model, [answer, ...more] as Parameters<typeof models.script>[1]);
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

const isLast = (frame: Frame): boolean => frame.frame === 'event' && frame.type === 'turn/end';

async function answerOf(perch: Perch, session: string): Promise<string> {
  const [message] = await perch.events(session, 'assistant/message');
  return said
    .parse(message)
    .content.map((block) => (block.type === 'text' ? (block.text ?? '') : ''))
    .join('');
}

describe('a client that is cut off again and again in the middle of a step', () => {
  it.each([0, 1, 2])(
    `has the answer exactly, with nothing sent again, by SSE (seed ${seed}, %i)`,
    async (n) => {
      const random = createRandom(seed + n);
      const perch = await createPerch();
      const text = composeText(random, 400);
      const session = await openStreaming(perch, {
        text,
        reasoning: 'Let me think.',
        deltas: 120,
        delay_ms: 4,
      });
      await perch.post(session, { text: 'go' });
      const assembler = createAssembler(0);
      let cuts = 0;
      for (let done = false; !done; cuts++) {
        const after = assembler.cursor();
        const response = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
          ...STREAM,
          ...(after === undefined ? {} : { 'last-event-id': after }),
        });
        const most = 1 + random.below(12);
        const frames = await readFrames(response, (frame, count) => isLast(frame) || count >= most);
        for (const frame of frames.filter(isStreamFrame)) assembler.take(frame);
        done = frames.some(isLast);
        // Something that is logged in the middle of the step, so that not only text is resumed.
        if (!done && cuts % 3 === 1) await perch.post(session, { text: 'later', delivery: 'inject' });
      }
      expect(cuts).toBeGreaterThan(4);
      expect(assembler.repeated()).toBe(0);
      expect(assembler.seqs()).toEqual(assembler.seqs().map((_, i) => i + 1));
      const step = assembler.step(1, 1);
      expect(step).toMatchObject({ text, streamed: { text, reasoning: 'Let me think.' } });
      expect(await answerOf(perch, session)).toBe(text);
    },
  );

  it(`has the answer exactly, with nothing sent again, by socket (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const perch = await createPerch();
    const text = composeText(random, 400);
    const session = await openStreaming(perch, { text, deltas: 120, delay_ms: 4 });
    await perch.post(session, { text: 'go' });
    const assembler = createAssembler(0);
    let cuts = 0;
    for (let done = false; !done; cuts++) {
      const client = await openSocketClient(perch.request, session, { after: assembler.cursor() ?? '0' });
      let left = 1 + random.below(12);
      const enough = await client.until((frame) => isLast(frame) || --left <= 0);
      client.close();
      // What comes behind it is lost with the connection.
      const read = client.frames.slice(0, client.frames.indexOf(enough) + 1);
      for (const frame of read.filter(isStreamFrame)) assembler.take(frame);
      done = read.some(isLast);
    }
    expect(cuts).toBeGreaterThan(4);
    expect(assembler.repeated()).toBe(0);
    expect(assembler.step(1, 1)).toMatchObject({ text, streamed: { text } });
  });

  it(`drops what it holds where the object was killed meanwhile (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const perch = await createPerch();
    const first = composeText(random, 200);
    const second = composeText(random, 200);
    const session = await openStreaming(perch, { text: first, deltas: 100, delay_ms: 10 }, [
      { text: second, deltas: 60, delay_ms: 4 },
    ]);
    await perch.post(session, { text: 'go' });
    const assembler = createAssembler(0);
    const frames: Frame[] = [];
    let killed = false;
    for (let done = false; !done; ) {
      const after = assembler.cursor();
      const response = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
        ...STREAM,
        ...(after === undefined ? {} : { 'last-event-id': after }),
      });
      const most = 1 + random.below(15);
      const read = await readFrames(response, (frame, count) => isLast(frame) || count >= most);
      for (const frame of read.filter(isStreamFrame)) assembler.take(frame);
      frames.push(...read);
      done = read.some(isLast);
      if (!killed && (assembler.step(1, 1)?.text.length ?? 0) > 100) {
        killed = true;
        await abortAllDurableObjects();
      }
    }
    expect(frames.filter(({ frame }) => frame === 'restart')).toHaveLength(1);
    const at = frames.findIndex(({ frame }) => frame === 'restart');
    expect(frames.slice(at - 1, at + 2)).toMatchObject([
      { frame: 'event', type: 'request/attempt' },
      { frame: 'restart', turn: 1, step: 1, attempt: 2 },
      { frame: 'delta', attempt: 2, offset: 0 },
    ]);
    expect(assembler.repeated()).toBe(0);
    expect(assembler.step(1, 1)).toMatchObject({ attempt: 2, text: second, streamed: { text: second } });
    expect(await answerOf(perch, session)).toBe(second);
  });
});

describe('a client that comes while a killed object is not yet at its next attempt', () => {
  it('gets the text so far out of the rows, as much as it lacks', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(100);
    const session = await openStreaming(perch, { text, deltas: 100, delay_ms: 5 }, [
      { text: 'anew', deltas: 1, delay_ms: 0 },
    ]);
    await perch.post(session, { text: 'go' });
    const live = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, STREAM);
    const shown = createAssembler(0);
    await readFrames(live, (frame) => {
      if (isStreamFrame(frame)) shown.take(frame);
      return (shown.step(1, 1)?.text.length ?? 0) > 150;
    });
    planFaults((point) => (point === 'turn.resumed' ? new Promise<void>(() => undefined) : undefined));
    await abortAllDurableObjects();
    const events = shown.seqs().at(-1) ?? 0;
    const whole = await openSocketClient(perch.request, session, { after: String(events) });
    await whole.until((frame) => frame.frame === 'ready');
    const [row] = whole.frames;
    expect(row).toMatchObject({ frame: 'delta', attempt: 1, offset: 0 });
    const kept = row?.frame === 'delta' ? row.text : '';
    expect(kept.length).toBeGreaterThan(20);
    expect(text.startsWith(kept)).toBe(true);
    const rest = await openSocketClient(perch.request, session, { after: `${events}.1.1.1.10.0` });
    await rest.until((frame) => frame.frame === 'ready');
    expect(rest.frames[0]).toMatchObject({ frame: 'delta', offset: 10, text: kept.slice(10) });
    // One that has more than the rows gets nothing, until the next attempt voids it.
    const ahead = await openSocketClient(perch.request, session, { after: shown.cursor() ?? '' });
    await ahead.until((frame) => frame.frame === 'ready');
    expect(ahead.frames).toHaveLength(1);
    clearFaults();
    await abortAllDurableObjects();
    const again = await openSocketClient(perch.request, session, { after: shown.cursor() ?? '' });
    await again.until(isLast);
    for (const frame of again.frames.filter(isStreamFrame)) shown.take(frame);
    expect(again.frames.filter(({ frame }) => frame === 'restart')).toHaveLength(1);
    expect(shown.step(1, 1)).toMatchObject({ attempt: 2, text: 'anew', streamed: { text: 'anew' } });
  });
});

describe('the first text of a client that comes back', () => {
  it('is the next that it lacks, also where the object is a new one', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(100);
    const session = await openStreaming(perch, { text, deltas: 100, delay_ms: 5 }, [{ text: 'anew' }]);
    await perch.post(session, { text: 'go' });
    const open = (after: string): Promise<Response> =>
      perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
        ...STREAM,
        'last-event-id': after,
      });
    const first = await measureReconnect(() => open('0'), Date.now);
    expect(first).toMatchObject({ offset: 0 });
    const second = await measureReconnect(() => open(first.cursor), Date.now);
    expect(second.offset).toBe(first.text.length);
    expect(text.startsWith(first.text + second.text)).toBe(true);
    await scheduler.wait(100);
    planFaults((point) => (point === 'turn.resumed' ? new Promise<void>(() => undefined) : undefined));
    await abortAllDurableObjects();
    const third = await measureReconnect(() => open(first.cursor), Date.now);
    expect(third.offset).toBe(first.text.length);
    expect(text.startsWith(first.text + third.text)).toBe(true);
    clearFaults();
    await abortAllDurableObjects();
    await readFrames(await open(second.cursor), isLast);
  });
});

describe('a reply stream', () => {
  it('says `restart` where its request is made again, and then the new text from its beginning', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [
      { text: 'This will be cut', deltas: 4, cut_after: 4 },
      { text: 'This is whole.', deltas: 3, delay_ms: 2 },
    ]);
    const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
    const response = await perch.request('POST', `/v1/sessions/${session}/messages`, { text: 'go' }, STREAM);
    const frames = await readFrames(response, () => false);
    const told = frames.map((frame) => (frame.frame === 'event' ? frame.type : frame.frame));
    const at = told.indexOf('restart');
    expect(told.slice(at - 2, at + 2)).toEqual(['request/failed', 'request/attempt', 'restart', 'delta']);
    const assembler = createAssembler(2);
    for (const frame of frames.filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.step(1, 1)).toMatchObject({
      attempt: 2,
      text: 'This is whole.',
      streamed: { text: 'This is whole.' },
    });
  });

  it('goes on when the object is killed under it, by itself, with the restart', async () => {
    const perch = await createPerch();
    const text = 'anew '.repeat(40);
    const session = await openStreaming(perch, { text: 'word '.repeat(100), deltas: 100, delay_ms: 10 }, [
      { text, deltas: 40, delay_ms: 2 },
    ]);
    const path = `/v1/sessions/${session}/messages`;
    const events = readEvents(await perch.request('POST', path, { text: 'go' }, STREAM));
    const frames: Frame[] = [];
    let killed = false;
    for await (const event of events) {
      const frame = toFrame(event);
      if (frame === null) continue;
      frames.push(frame);
      if (killed || frames.filter((one) => one.frame === 'delta').length < 4) continue;
      killed = true;
      await abortAllDurableObjects();
    }
    const assembler = createAssembler(2);
    for (const frame of frames.filter(isStreamFrame)) assembler.take(frame);
    expect(frames.filter(({ frame }) => frame === 'restart')).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ frame: 'event', type: 'turn/end' });
    expect(assembler.repeated()).toBe(0);
    expect(assembler.step(1, 1)).toMatchObject({ attempt: 2, text, streamed: { attempt: 2, text } });
  });

  it('can be gone on with as a stream of the session, from its last id', async () => {
    const perch = await createPerch();
    const text = 'word '.repeat(60);
    const session = await openStreaming(perch, { text, deltas: 60, delay_ms: 4 });
    const response = await perch.request('POST', `/v1/sessions/${session}/messages`, { text: 'go' }, STREAM);
    const assembler = createAssembler(2);
    const begun = await readFrames(response, (frame, count) => frame.frame === 'delta' && count > 8);
    for (const frame of begun.filter(isStreamFrame)) assembler.take(frame);
    const more = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
      ...STREAM,
      'last-event-id': assembler.cursor() ?? '',
    });
    for (const frame of (await readFrames(more, isLast)).filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.repeated()).toBe(0);
    expect(assembler.step(1, 1)).toMatchObject({ text, streamed: { text } });
  });
});

describe('an idle stream', () => {
  it('goes on after the object was evicted, without its client noticing', async () => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    const response = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, STREAM);
    let turns = 0;
    const reading = readFrames(response, (frame) => isLast(frame) && ++turns === 3);
    for (let i = 0; i < 3; i++) {
      await perch.ask(session, `turn ${i}`);
      await evictDurableObject(sessionStub(perch, session));
    }
    const assembler = createAssembler(0);
    for (const frame of (await reading).filter(isStreamFrame)) assembler.take(frame);
    expect(assembler.seqs()).toHaveLength((await perch.events(session)).length);
    expect(assembler.repeated()).toBe(0);
  });
});
