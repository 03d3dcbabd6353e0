import { describe, expect, it } from 'vitest';
import { type EventBody, NO_USAGE, type ToolCallBlock } from '../../durable/transcript/events.ts';
import { repairCalls, repairStep } from '../../durable/transcript/repair.ts';
import { replaceInRanges } from '../../durable/transcript/surface.ts';
import { foldTurn, nextAction, openTurn, type TurnState } from '../../durable/transcript/turn-state.ts';
import { createRandom } from '../support/random.ts';

const call = (id: string, name = 'echo'): ToolCallBlock => ({ type: 'tool-call', id, name, input: {} });
const answer = (calls: ToolCallBlock[], step = 1): EventBody => ({
  type: 'assistant/message',
  turn: 1,
  step,
  attempt: 1,
  content: calls,
  finish: calls.length > 0 ? 'tool-calls' : 'stop',
  usage: { ...NO_USAGE, output: 5 },
  model: 'm',
  surface: 'append',
});
const started = (id: string): EventBody => ({
  type: 'tool/call',
  turn: 1,
  step: 1,
  call: id,
  name: 'echo',
  input: {},
});
const settled = (id: string): EventBody => ({
  type: 'tool/result',
  turn: 1,
  step: 1,
  call: id,
  name: 'echo',
  content: [{ type: 'text', text: 'x' }],
  surface: 'append',
});
const fold = (events: EventBody[]): TurnState => events.reduce(foldTurn, openTurn(1));
const toStep: EventBody[] = [
  { type: 'turn/start', turn: 1 },
  { type: 'step/start', turn: 1, step: 1, claimed: [] },
  { type: 'request/attempt', turn: 1, step: 1, attempt: 1, digest: '' },
];

describe('what a turn needs next', () => {
  it('follows from its events alone', () => {
    expect(nextAction(fold(toStep.slice(0, 1)))).toEqual({ kind: 'boundary' });
    expect(nextAction(fold(toStep))).toEqual({ kind: 'request', step: 1, attempt: 2 });
    const asked = [...toStep, answer([call('a'), call('b')])];
    expect(nextAction(fold(asked))).toMatchObject({
      kind: 'calls',
      calls: [{ block: { id: 'a' } }, { block: { id: 'b' } }],
    });
    const half = [...asked, started('a'), settled('a')];
    expect(nextAction(fold(half))).toMatchObject({
      kind: 'calls',
      calls: [{ block: { id: 'b' }, started: false }],
    });
    expect(nextAction(fold([...half, started('b'), settled('b')]))).toEqual({ kind: 'close-step', step: 1 });
    expect(nextAction(fold([...toStep, answer([])]))).toEqual({ kind: 'close-step', step: 1 });
    expect(nextAction(fold([...toStep, answer([]), { type: 'step/end', turn: 1, step: 1 }]))).toEqual({
      kind: 'boundary',
    });
  });

  it('adds up the usage of all steps', () => {
    expect(fold([...toStep, answer([]), answer([])]).usage.output).toBe(10);
  });
});

describe('repair', () => {
  const open = fold([
    ...toStep,
    answer([call('a'), call('b'), call('c')]),
    started('a'),
    settled('a'),
    started('b'),
  ]);

  it('tells a call of unknown outcome from one that never started, in order', () => {
    const results = repairCalls(open, 'restarted', () => false);
    expect(results.map((event) => event.type === 'tool/result' && [event.call, event.error])).toEqual([
      ['b', 'TOOL_OUTCOME_UNKNOWN'],
      ['c', 'TOOL_NOT_STARTED'],
    ]);
  });

  it('leaves a started call open where it may run again', () => {
    const results = repairCalls(open, 'restarted', ({ block }) => block.id === 'b');
    expect(results.map((event) => event.type === 'tool/result' && event.call)).toEqual(['c']);
  });

  it('leaves every call with one result and the step closed, wherever a turn is cut', () => {
    const random = createRandom(7);
    for (let round = 0; round < 2_000; round++) {
      const ids = Array.from({ length: random.below(5) }, (_, i) => `c${i}`);
      const all = [
        ...toStep,
        answer(ids.map((id) => call(id))),
        ...ids.flatMap((id) => [started(id), settled(id)]),
      ];
      const cut = all.slice(0, 1 + random.below(all.length));
      const repaired = [...cut, ...repairStep(fold(cut), 'restarted')];
      const state = fold(repaired);
      expect(state.stepOpen).toBe(false);
      const answered = repaired.some((event) => event.type === 'assistant/message');
      const results = repaired.flatMap((event) => (event.type === 'tool/result' ? [event.call] : []));
      expect(results).toEqual(answered ? ids : []);
      expect(repairStep(state, 'restarted')).toEqual([]);
    }
  });
});

describe('ranges of the surface', () => {
  const seqsOf = (ranges: { first: number; last: number | null }[], end: number): number[] =>
    ranges.flatMap(({ first, last }) =>
      Array.from({ length: (last ?? end) - first + 1 }, (_, i) => first + i),
    );

  it('put a replacement in the place of what it shadows, and stay open at the end', () => {
    const ranges = replaceInRanges([{ first: 1, last: null }], 10, [2, 3, 5]);
    expect(seqsOf(ranges, 12)).toEqual([1, 10, 4, 6, 7, 8, 9, 11, 12]);
    expect(ranges.at(-1)?.last).toBeNull();
  });

  it('agree with a list that is edited, over random replacements', () => {
    const random = createRandom(11);
    for (let round = 0; round < 300; round++) {
      let ranges: { first: number; last: number | null }[] = [{ first: 1, last: null }];
      let list: number[] = [1, 2, 3, 4, 5, 6];
      for (let i = 0, next = 7; i < 5; i++, next += 2) {
        const from = random.below(list.length);
        const shadowed = list.slice(from, from + 1 + random.below(3));
        const sorted = shadowed.toSorted((a, b) => a - b);
        ranges = replaceInRanges(ranges, next, sorted);
        const place = list.indexOf(sorted[0] ?? -1);
        list = [...list.slice(0, place), next, ...list.slice(place)].filter((seq) => !sorted.includes(seq));
        list.push(next + 1);
        expect(seqsOf(ranges, next + 1)).toEqual(list);
      }
    }
  });
});
