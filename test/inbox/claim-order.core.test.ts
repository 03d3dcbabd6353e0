import { describe, expect, it } from 'vitest';
import { type InboxItem, toClaimOrder } from '../../durable/inbox/index.ts';
import type { MessageId } from '../../durable/transcript/index.ts';

/** `t` is a prompt of next-turn, `s` something of next-step; their number is their position. */
function item(name: string): InboxItem {
  return {
    position: Number(name.slice(1)),
    queue: name.startsWith('t') ? 'next-turn' : 'next-step',
    wakes: true,
    message: {
      id: name as MessageId,
      role: 'user',
      source: { kind: 'user' },
      content: [{ type: 'text', text: name }],
    },
  };
}

const order = (names: string, isUnderWay: boolean): string =>
  toClaimOrder(names.split(' ').map(item), isUnderWay)
    .map(({ message }) => message.id)
    .join(' ');

describe('the order of claims', () => {
  it.each([
    // No turn: the next one takes all of next-step and one prompt together, as they came.
    ['t1 s2 t3 s4', false, 't1 s2 s4 t3'],
    ['s1 t2 t3', false, 's1 t2 t3'],
    ['s1 s2', false, 's1 s2'],
    // In a turn: its next step takes next-step alone.
    ['t1 s2 t3 s4', true, 's2 s4 t1 t3'],
    ['t1 t2', true, 't1 t2'],
  ])('of %s with a turn under way: %s', (names, isUnderWay, expected) => {
    expect(order(names, isUnderWay)).toBe(expected);
  });
});
