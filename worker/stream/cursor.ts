/**
 * How far a stream has come. A new socket repeats the text so far of a running step, and may repeat an event; what
 * was passed on before is taken out here, so that a reader sees neither a gap nor anything twice.
 */
import type { Frame } from '../../durable/rpc.ts';
import type { DeltaFrame } from './frames.ts';

export interface Cursor {
  /** The newest event passed on, else where the stream began. */
  lastSeq: () => number;
  /** The frame, or the part of it that is new; null where nothing is. */
  advance: (frame: Frame) => Frame | null;
}

export function createCursor(after: number): Cursor {
  let seq = after;
  let attempt = '';
  let seen = { text: 0, reasoning: 0 };
  const advanceDelta = (frame: DeltaFrame): DeltaFrame | null => {
    const current = `${frame.turn}.${frame.step}.${frame.attempt}`;
    if (current !== attempt) {
      attempt = current;
      seen = { text: 0, reasoning: 0 };
    }
    const known = seen[frame.kind] - frame.offset;
    if (known >= frame.text.length) return null;
    seen[frame.kind] = frame.offset + frame.text.length;
    return known > 0 ? { ...frame, offset: frame.offset + known, text: frame.text.slice(known) } : frame;
  };
  return {
    lastSeq: () => seq,
    advance(frame) {
      switch (frame.frame) {
        case 'event':
          if (frame.seq <= seq) return null;
          seq = frame.seq;
          return frame;
        case 'delta':
          return advanceDelta(frame);
        case 'ready':
          return frame;
      }
    },
  };
}
