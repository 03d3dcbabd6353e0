/**
 * Paces the text of an answer: the first piece goes out at once, what follows within a few milliseconds goes out
 * together. A model's stream comes in pieces of a word; a frame for each would cost more than the word is worth, and
 * nobody reads faster than this.
 */
import type { DeltaFrame } from '../transcript/index.ts';

/** Under the 16 ms of a screen's frame. */
const PACE_MS = 10;

export interface DeltaPacer {
  push: (frame: DeltaFrame) => void;
  /** Sends what is held back: before anything else is sent. */
  flush: () => void;
}

export function createDeltaPacer(send: (frame: DeltaFrame) => void, now: () => number): DeltaPacer {
  let held: { frame: DeltaFrame; pieces: string[] } | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let last: { frame: DeltaFrame; at: number } | null = null;

  const sendNow = (frame: DeltaFrame): void => {
    last = { frame, at: now() };
    send(frame);
  };
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (!held) return;
    const { frame, pieces } = held;
    held = null;
    sendNow({ ...frame, text: pieces.join('') });
  };
  return {
    push(frame) {
      if (held && !continues(held.frame, frame)) flush();
      if (held) {
        held.pieces.push(frame.text);
        return;
      }
      // The first piece of a kind in an attempt is what a person waits for.
      const due = last && continues(last.frame, frame) ? last.at + PACE_MS - now() : 0;
      if (due <= 0) {
        sendNow(frame);
        return;
      }
      held = { frame, pieces: [frame.text] };
      timer = setTimeout(flush, due);
    },
    flush,
  };
}

function continues(held: DeltaFrame, next: DeltaFrame): boolean {
  return (
    held.kind === next.kind &&
    held.attempt === next.attempt &&
    held.step === next.step &&
    held.turn === next.turn
  );
}
