import { describe, expect, it } from 'vitest';
import {
  createCursor,
  formatPlace,
  parsePlace,
  restartAfter,
  type StreamFrame,
} from '../../durable/stream-cursor.ts';

const event = (seq: number, type = 'inbox/admitted'): StreamFrame => ({
  frame: 'event',
  seq,
  type,
  turn: null,
  data: '{}',
});
const restart = (attempt: number, step = 1): StreamFrame => ({ frame: 'restart', turn: 1, step, attempt });
const delta = (offset: number, text: string, attempt = 1): StreamFrame => ({
  frame: 'delta',
  turn: 1,
  step: 1,
  attempt,
  offset,
  kind: 'text',
  text,
});

describe('the place in a stream', () => {
  it('passes every event once, and none from before it began', () => {
    const cursor = createCursor({ seq: 4, part: null });
    const passed = [3, 4, 5, 6, 5, 6, 7]
      .map((seq) => cursor.advance(event(seq)))
      .filter((frame) => frame !== null);
    expect(passed).toEqual([event(5), event(6), event(7)]);
    expect(cursor.lastSeq()).toBe(7);
  });

  it('passes the text of an answer once, however a new socket repeats it', () => {
    const cursor = createCursor({ seq: 0, part: null });
    expect(cursor.advance(delta(0, 'Hello'))).toEqual(delta(0, 'Hello'));
    expect(cursor.advance(delta(0, 'Hello, wor'))).toEqual(delta(5, ', wor'));
    expect(cursor.advance(delta(0, 'Hello, wor'))).toBeNull();
    expect(cursor.advance(delta(10, 'ld'))).toEqual(delta(10, 'ld'));
  });

  it('begins anew with another attempt, whose text is another', () => {
    const cursor = createCursor({ seq: 0, part: null });
    cursor.advance(delta(0, 'Hello'));
    expect(cursor.advance(delta(0, 'Hi', 2))).toEqual(delta(0, 'Hi', 2));
  });

  it('keeps reasoning and text apart', () => {
    const cursor = createCursor({ seq: 0, part: null });
    cursor.advance(delta(0, 'Hello'));
    const thought: StreamFrame = {
      frame: 'delta',
      turn: 1,
      step: 1,
      attempt: 1,
      offset: 0,
      kind: 'reasoning',
      text: 'Hm',
    };
    expect(cursor.advance(thought)).toEqual(thought);
  });

  it('is told as a text that leads back to it', () => {
    const cursor = createCursor({ seq: 0, part: null });
    expect(cursor.text()).toBe('0');
    const frames = [event(7, 'step/start'), delta(0, 'Hello'), event(8)];
    for (const frame of frames) cursor.advance(frame);
    expect(cursor.text()).toBe('8.1.1.1.5.0');
    const resumed = createCursor(parsePlace(cursor.text()) ?? { seq: 0, part: null });
    expect([event(7), event(8), delta(0, 'Hello'), delta(0, 'Hello you')].map(resumed.advance)).toEqual([
      ...[null, null, null],
      delta(5, ' you'),
    ]);
    expect(resumed.text()).toBe('8.1.1.1.9.0');
  });

  it('is outside an answer once the answer is logged', () => {
    const cursor = createCursor({ seq: 3, part: { turn: 1, step: 1, attempt: 1, text: 5, reasoning: 2 } });
    cursor.advance(event(4, 'assistant/message'));
    expect(cursor.text()).toBe('4');
  });

  it('passes a restart once, and never one of an attempt that it is in or beyond', () => {
    const cursor = createCursor({ seq: 3, part: { turn: 1, step: 1, attempt: 2, text: 5, reasoning: 0 } });
    expect(
      [restart(2), restart(3), restart(3), delta(0, 'Hi', 2), delta(0, 'Hi', 3)].map(cursor.advance),
    ).toEqual([...[null, restart(3), null, null], delta(0, 'Hi', 3)]);
    expect(cursor.text()).toBe('3.1.1.3.2.0');
  });

  it('lets a restart through to a reader who may hold anything', () => {
    expect(createCursor({ seq: 9, part: null }).advance(restart(2))).toEqual(restart(2));
    const elsewhere = { seq: 9, part: { turn: 1, step: 1, attempt: 2, text: 5, reasoning: 0 } };
    expect(createCursor(elsewhere).advance(restart(2, 2))).toEqual(restart(2, 2));
  });

  it.each(['', 'x', '1.2', '1.2.3.4.5', '1.2.3.4.5.6.7', '-1', '1e3', ' 1', '1.2.3.4.5.-6', '9'.repeat(16)])(
    'cannot be read from %j',
    (text) => expect(parsePlace(text)).toBeNull(),
  );

  it.each(['0', '12', '12.3.1.2.400.0'])('is read from %s and written so', (text) => {
    const place = parsePlace(text);
    expect(place && formatPlace(place)).toBe(text);
  });
});

describe('what follows an event', () => {
  it('is a restart where it begins another attempt, else nothing', () => {
    const attempt = { type: 'request/attempt', turn: 3, step: 2, attempt: 2 };
    expect(restartAfter(attempt)).toEqual({ frame: 'restart', turn: 3, step: 2, attempt: 2 });
    expect(restartAfter({ ...attempt, attempt: 1 })).toBeNull();
    expect(restartAfter({ ...attempt, type: 'request/failed' })).toBeNull();
  });
});
