/**
 * The client's rule, as a reference: frames in, the text of each step out. Pure. It is strict where a client would be
 * lenient: a gap in the text or in the log, and an attempt that no `restart` announced, are errors.
 */
import { z } from 'zod';
import type { StreamFrame } from '../../durable/stream-cursor.ts';

export interface Assembler {
  take: (frame: StreamFrame) => void;
  /** What the client shows of a step: the logged answer, or what came of it so far. */
  step: (turn: number, step: number) => StepText | undefined;
  /** The seqs of the events, in the order in which they came. */
  seqs: () => number[];
  /** UTF-16 units of text that came though the client had them. */
  repeated: () => number;
  /** Where to resume. */
  cursor: () => string | undefined;
}

export interface StepText {
  attempt: number;
  text: string;
  reasoning: string;
  /** What came of it as deltas, of which attempt, before the answer was there in the log. */
  streamed: { attempt: number; text: string; reasoning: string } | null;
}

const answer = z.looseObject({
  turn: z.number(),
  step: z.number(),
  attempt: z.number(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});

/** `after`: the seq behind which it begins. */
export function createAssembler(after: number): Assembler {
  const steps = new Map<string, StepText>();
  const seqs: number[] = [];
  let cursor: string | undefined;
  let repeated = 0;

  const begin = (turn: number, step: number, attempt: number): StepText => {
    const fresh: StepText = { attempt, text: '', reasoning: '', streamed: null };
    steps.set(`${turn}.${step}`, fresh);
    return fresh;
  };
  const takeDelta = (frame: Extract<StreamFrame, { frame: 'delta' }>): void => {
    const { turn, step, attempt, offset, kind, text } = frame;
    const held = steps.get(`${turn}.${step}`) ?? (attempt === 1 ? begin(turn, step, 1) : undefined);
    if (held?.attempt !== attempt) throw new Error(`attempt ${attempt} of ${turn}.${step} was not announced`);
    const known = held[kind].length - offset;
    if (known < 0) throw new Error(`${-known} units of ${kind} are missing in ${turn}.${step}`);
    repeated += held.streamed === null ? Math.min(known, text.length) : text.length;
    held[kind] += text.slice(known);
  };
  const takeEvent = (frame: Extract<StreamFrame, { frame: 'event' }>): void => {
    const last = seqs.at(-1) ?? after;
    if (frame.seq !== last + 1) throw new Error(`event ${frame.seq} came after ${last}`);
    seqs.push(frame.seq);
    if (frame.type !== 'assistant/message') return;
    const { turn, step, attempt, content } = answer.parse(JSON.parse(frame.data));
    const { streamed: _, ...streamed } = steps.get(`${turn}.${step}`) ?? begin(turn, step, attempt);
    const join = (type: string): string =>
      content.map((block) => (block.type === type ? (block.text ?? '') : '')).join('');
    const logged = { attempt, text: join('text'), reasoning: join('reasoning') };
    steps.set(`${turn}.${step}`, { ...logged, streamed });
  };
  return {
    take(frame) {
      if (frame.frame === 'event') takeEvent(frame);
      else if (frame.frame === 'delta') takeDelta(frame);
      else begin(frame.turn, frame.step, frame.attempt);
      cursor = frame.cursor ?? cursor;
    },
    step: (turn, step) => steps.get(`${turn}.${step}`),
    seqs: () => seqs,
    repeated: () => repeated,
    cursor: () => cursor,
  };
}
