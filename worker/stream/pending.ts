import type { Frame } from '../../durable/rpc.ts';

/** UTF-16 units that may wait for a slow reader. */
const MAX_PENDING_UNITS = 1024 * 1024;

/** What has come and is not read yet, and the one reader that waits for it. */
export interface Pending {
  /** `units` is the frame's size, as text. */
  put: (frame: Frame, units: number) => void;
  isFull: () => boolean;
  /** All of it, in order. */
  take: () => Frame[];
  /** Until something is put, `wake` is called, or `waitMs` are over at the latest. */
  wait: (waitMs: number) => Promise<void>;
  wake: () => void;
  /** Lets go of the timer: nobody waits any more. */
  end: () => void;
}

export function createPending(): Pending {
  let frames: Frame[] = [];
  let total = 0;
  let wake = (): void => {};
  /** Kept from one wait to the next: a stream waits for every frame, and a timer for each would cost more than it. */
  let timer: { id: ReturnType<typeof setTimeout>; due: number } | null = null;

  const arm = (waitMs: number): void => {
    const due = Date.now() + waitMs;
    if (timer !== null && timer.due <= due) return;
    if (timer !== null) clearTimeout(timer.id);
    const id = setTimeout(() => {
      timer = null;
      wake();
    }, waitMs);
    timer = { id, due };
  };
  return {
    put(frame, units) {
      frames.push(frame);
      total += units;
      wake();
    },
    isFull: () => total > MAX_PENDING_UNITS,
    take() {
      const taken = frames;
      frames = [];
      total = 0;
      return taken;
    },
    wait: (waitMs) =>
      new Promise((resolve) => {
        wake = resolve;
        arm(waitMs);
      }),
    wake: () => wake(),
    end() {
      if (timer !== null) clearTimeout(timer.id);
      timer = null;
    },
  };
}
