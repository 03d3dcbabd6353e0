/**
 * A place in a session's stream, for both ends of it: behind an event of the log and, where an answer was being
 * streamed there, so far into its text. As text it is what `after` and `Last-Event-ID` take and what a frame's `cursor`
 * and an SSE `id` say: `<seq>`, or `<seq>.<turn>.<step>.<attempt>.<text>.<reasoning>`, the last two in UTF-16 units.
 */
import type { Frame } from './rpc.ts';

/** The frames that make up a stream; the others are about it. */
export type StreamFrame = Extract<Frame, { frame: 'event' | 'delta' | 'restart' }>;

/** How much of an unfinished answer a reader has, of each kind. */
interface Part {
  turn: number;
  step: number;
  attempt: number;
  text: number;
  reasoning: number;
}

export interface Place {
  /** The newest event that the reader has; 0 before the first. */
  seq: number;
  /** Null where no answer was being streamed, or the reader has nothing of it. */
  part: Part | null;
}

export interface Cursor {
  lastSeq: () => number;
  place: () => Place;
  /** The place, as text. */
  text: () => string;
  /** Goes behind the frame. What of it is new there; null where nothing is. */
  advance: (frame: StreamFrame) => StreamFrame | null;
}

const PLACE = /^(\d{1,15})(?:\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,15}))?$/;
/** Before and after these no answer is being streamed. */
const PART_ENDS: ReadonlySet<string> = new Set([
  'turn/start',
  'step/start',
  'assistant/message',
  'step/end',
  'turn/end',
]);

/** Null for a text that names no place. */
export function parsePlace(text: string): Place | null {
  const found = PLACE.exec(text);
  if (found === null) return null;
  const [seq = 0, turn = 0, step = 0, attempt = 0, said = 0, thought = 0] = found.slice(1).map(Number);
  const part = found[2] === undefined ? null : { turn, step, attempt, text: said, reasoning: thought };
  return { seq, part };
}

export function formatPlace({ seq, part }: Place): string {
  if (part === null) return String(seq);
  return `${seq}.${part.turn}.${part.step}.${part.attempt}.${part.text}.${part.reasoning}`;
}

/**
 * Follows frames from a place on. Frames may repeat what the reader has: a new socket begins with the whole text so
 * far. Events come in the log's order.
 */
export function createCursor(from: Place): Cursor {
  let { seq, part } = from;
  const isAt = (frame: { turn: number; step: number }): boolean =>
    part !== null && part.turn === frame.turn && part.step === frame.step;

  const begin = ({ turn, step, attempt }: Omit<Part, 'text' | 'reasoning'>): Part => {
    part = { turn, step, attempt, text: 0, reasoning: 0 };
    return part;
  };
  const advanceDelta = (frame: Extract<Frame, { frame: 'delta' }>): StreamFrame | null => {
    if (isAt(frame) && part !== null && part.attempt > frame.attempt) return null;
    const held = isAt(frame) && part?.attempt === frame.attempt ? part : begin(frame);
    const known = held[frame.kind] - frame.offset;
    if (known >= frame.text.length) return null;
    part = { ...held, [frame.kind]: frame.offset + frame.text.length };
    return known > 0 ? { ...frame, offset: frame.offset + known, text: frame.text.slice(known) } : frame;
  };
  return {
    lastSeq: () => seq,
    place: () => ({ seq, part }),
    text: () => formatPlace({ seq, part }),
    advance(frame) {
      switch (frame.frame) {
        case 'event':
          if (frame.seq <= seq) return null;
          seq = frame.seq;
          if (PART_ENDS.has(frame.type)) part = null;
          return frame;
        case 'restart':
          if (isAt(frame) && part !== null && part.attempt >= frame.attempt) return null;
          begin(frame);
          return frame;
        case 'delta':
          return advanceDelta(frame);
      }
    },
  };
}

/** The frame that says where its reader is behind it. */
export function addCursor(frame: StreamFrame, cursor: string): StreamFrame {
  return { ...frame, cursor };
}

/**
 * What follows a logged event in every stream: `restart`, where it begins another attempt of a step. `event` is a row of
 * the log; null for any other.
 */
export function restartAfter(event: {
  type: string;
  turn?: number | null | undefined;
  step?: number | undefined;
  attempt?: number | undefined;
}): Extract<Frame, { frame: 'restart' }> | null {
  const { type, turn, step, attempt } = event;
  if (type !== 'request/attempt' || turn == null || step === undefined || attempt === undefined) return null;
  return attempt > 1 ? { frame: 'restart', turn, step, attempt } : null;
}
