/** What differs between a recording and its replay, step by step, each with whom it belongs to. Pure. */
import type { LogEvent } from '../../durable/transcript/index.ts';
import { findFirstChange } from './canonical.ts';
import {
  type CallOutline,
  outlineSession,
  type StepOutline,
  showAnswer,
  showReason,
  type TurnOutline,
} from './outline.ts';
import { compareText, type TextChange } from './text-change.ts';
import { compareInjections, compareTold, type Texts } from './told.ts';

export interface Difference {
  /** Null where it belongs to no turn, or to no step of it. */
  turn: number | null;
  step: number | null;
  kind: 'prompt' | 'injection' | 'message' | 'request' | 'answer' | 'call' | 'outcome' | 'past' | 'order';
  /** Who answers for what changed; null where it is nobody's part. */
  owner: string | null;
  /** In words. */
  what: string;
  /** The first lines that differ, where it is a text. */
  text: TextChange | null;
}

export interface Comparison {
  differences: Difference[];
  /** What differs and reaches no model. */
  notes: string[];
}

export interface Side {
  events: readonly LogEvent[];
  readText: Texts;
}

export interface CompareOptions {
  /** The last event that both have as it is. */
  from: number;
  /** Whether the answers are the recording's, so that another answer is a difference. */
  sameAnswers: boolean;
}

export function compareRuns(recorded: Side, replayed: Side, options: CompareOptions): Comparison {
  const was = outlineSession(recorded.events, options.from);
  const is = outlineSession(replayed.events, options.from);
  const notes = new Set<string>();
  const seen = new Set<string>();
  const differences: Difference[] = [];
  for (let i = 0; i < Math.max(was.length, is.length); i++) {
    for (const difference of compareTurn(was[i], is[i], { recorded, replayed, options, notes })) {
      // What was told before stays in the prompt: a consequence is no news.
      if (difference.kind === 'past' && differences.length > 0) continue;
      // A prompt stays as it is from step to step: what changed in it is told once.
      const key = JSON.stringify([difference.kind, difference.what, difference.text]);
      if (difference.kind === 'prompt' && seen.has(key)) continue;
      seen.add(key);
      differences.push(difference);
    }
  }
  if (differences.length === 0 && options.sameAnswers) {
    const change = findFirstChange(recorded.events, replayed.events, options.from);
    if (change) {
      differences.push({
        turn: null,
        step: null,
        kind: 'order',
        owner: null,
        what: change.what,
        text: change.text,
      });
    }
  }
  return { differences, notes: [...notes] };
}

interface Context {
  recorded: Side;
  replayed: Side;
  options: CompareOptions;
  notes: Set<string>;
}

function compareTurn(
  was: TurnOutline | undefined,
  is: TurnOutline | undefined,
  context: Context,
): Difference[] {
  const turn = was?.turn ?? is?.turn ?? 0;
  const at = { turn, step: null, owner: null, text: null };
  if (!was)
    return [{ ...at, kind: 'outcome', what: `a turn that was not: ${showReason(is?.reason ?? null)}` }];
  if (!is)
    return [
      { ...at, kind: 'outcome', what: `the turn does not come to pass; it was ${showReason(was.reason)}` },
    ];
  const differences: Difference[] = [];
  for (let i = 0; i < Math.max(was.steps.length, is.steps.length); i++) {
    const [a, b] = [was.steps[i], is.steps[i]];
    if (a && b) differences.push(...compareStep(turn, a, b, context));
    else differences.push(describeLoneStep(turn, a, b));
  }
  const [before, after] = [showReason(was.reason), showReason(is.reason)];
  if (before !== after) {
    differences.push({
      ...at,
      kind: 'outcome',
      what: 'the turn ends otherwise',
      text: compareText(before, after),
    });
  }
  return differences;
}

function describeLoneStep(
  turn: number,
  was: StepOutline | undefined,
  is: StepOutline | undefined,
): Difference {
  const what = was ? 'the step does not come to pass' : 'a step that was not';
  return { turn, step: was?.step ?? is?.step ?? null, kind: 'outcome', owner: null, what, text: null };
}

function compareStep(turn: number, was: StepOutline, is: StepOutline, context: Context): Difference[] {
  const { recorded, replayed, options, notes } = context;
  const told =
    was.header && is.header
      ? compareTold(
          { header: was.header, readText: recorded.readText },
          { header: is.header, readText: replayed.readText },
        )
      : { parts: [], notes: [] };
  for (const note of told.notes) notes.add(note);
  const parts: Omit<Difference, 'turn' | 'step'>[] = [
    ...told.parts.map((part) => ({ kind: 'prompt' as const, ...part })),
    ...compareInjections(was.messages, is.messages).map((part) => ({ kind: 'injection' as const, ...part })),
    ...compareLists('message', 'takes other messages', was.claimed, is.claimed),
  ];
  if (options.sameAnswers) {
    parts.push(...compareLists('request', 'comes to something else', was.requests, is.requests));
    parts.push(...compareAnswers(was, is));
    if (parts.length === 0 && was.digest !== is.digest) {
      parts.push({
        kind: 'past',
        owner: null,
        what: 'is asked with other messages from before',
        text: null,
      });
    }
  }
  parts.push(...compareCalls(was.calls, is.calls));
  return parts.map((part) => ({ turn, step: is.step, ...part }));
}

function compareLists(
  kind: Difference['kind'],
  what: string,
  was: readonly string[],
  is: readonly string[],
): Omit<Difference, 'turn' | 'step'>[] {
  const text = compareText(was.join(', ') || 'none', is.join(', ') || 'none');
  return text ? [{ kind, owner: null, what, text }] : [];
}

function compareAnswers(was: StepOutline, is: StepOutline): Omit<Difference, 'turn' | 'step'>[] {
  const same = JSON.stringify(was.answer?.content) === JSON.stringify(is.answer?.content);
  const finish = was.answer?.finish === is.answer?.finish;
  if (same && finish) return [];
  const text = compareText(showAnswer(was.answer), showAnswer(is.answer));
  return [{ kind: 'answer', owner: null, what: 'is answered otherwise', text }];
}

function compareCalls(
  was: readonly CallOutline[],
  is: readonly CallOutline[],
): Omit<Difference, 'turn' | 'step'>[] {
  const differences: Omit<Difference, 'turn' | 'step'>[] = [];
  for (let i = 0; i < Math.max(was.length, is.length); i++) {
    const [a, b] = [was[i], is[i]];
    const asked = compareText(showCall(a), showCall(b));
    if (asked)
      differences.push({ kind: 'call', owner: null, what: `call ${i + 1} is another one`, text: asked });
    if (asked || !a || !b) continue;
    const text = compareText(showResult(a), showResult(b));
    if (text)
      differences.push({ kind: 'call', owner: a.name, what: `the result of ${a.name} is another one`, text });
  }
  return differences;
}

function showCall(call: CallOutline | undefined): string {
  return call ? `${call.name} ${JSON.stringify(call.input)}` : 'no call';
}

function showResult({ result, error }: CallOutline): string {
  const failed = error === null ? '' : `(${error}) `;
  return `${failed}${result ?? 'no result'}`;
}
