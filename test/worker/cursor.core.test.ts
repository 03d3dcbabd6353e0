import { describe, expect, it } from 'vitest';
import type { Frame } from '../../durable/rpc.ts';
import { createCursor } from '../../worker/stream/cursor.ts';

const event = (seq: number): Frame => ({ frame: 'event', seq, type: 'turn/start', turn: 1, data: '{}' });
const delta = (offset: number, text: string, attempt = 1): Frame => ({
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
    const cursor = createCursor(4);
    const passed = [3, 4, 5, 6, 5, 6, 7]
      .map((seq) => cursor.advance(event(seq)))
      .filter((frame) => frame !== null);
    expect(passed).toEqual([event(5), event(6), event(7)]);
    expect(cursor.lastSeq()).toBe(7);
  });

  it('passes the text of an answer once, however a new socket repeats it', () => {
    const cursor = createCursor(0);
    expect(cursor.advance(delta(0, 'Hello'))).toEqual(delta(0, 'Hello'));
    expect(cursor.advance(delta(0, 'Hello, wor'))).toEqual(delta(5, ', wor'));
    expect(cursor.advance(delta(0, 'Hello, wor'))).toBeNull();
    expect(cursor.advance(delta(10, 'ld'))).toEqual(delta(10, 'ld'));
  });

  it('begins anew with another attempt, whose text is another', () => {
    const cursor = createCursor(0);
    cursor.advance(delta(0, 'Hello'));
    expect(cursor.advance(delta(0, 'Hi', 2))).toEqual(delta(0, 'Hi', 2));
  });

  it('keeps reasoning and text apart', () => {
    const cursor = createCursor(0);
    cursor.advance(delta(0, 'Hello'));
    const thought: Frame = {
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
});
