import type { Frame } from '../../durable/rpc.ts';

/** UTF-16 units that may wait for a slow reader. */
const MAX_PENDING_UNITS = 1024 * 1024;

/** What to do about a reader that has left something lying for so long. */
export interface SlowReader {
  afterMs: number;
  drop: () => void;
}

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
  /** Lets go of the timers: nothing comes any more. `last`: instead of what was not taken. */
  end: (last: Frame | null) => void;
}

export function createPending(slow: SlowReader): Pending {
  let frames: Frame[] = [];
  /** Since when some of them wait. */
  let since = 0;
  let slowTimer: ReturnType<typeof setTimeout> | null = null;
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
  /** One timer, however often the reader comes: it looks again when the time of what then waits is up. */
  const watchSlow = (leftMs: number): void => {
    slowTimer = setTimeout(() => {
      slowTimer = null;
      if (frames.length === 0) return;
      const left = since + slow.afterMs - Date.now();
      if (left > 0) watchSlow(left);
      else slow.drop();
    }, leftMs);
  };
  return {
    put(frame, units) {
      if (frames.length === 0) since = Date.now();
      if (slowTimer === null) watchSlow(slow.afterMs);
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
    end(last) {
      if (timer !== null) clearTimeout(timer.id);
      timer = null;
      if (slowTimer !== null) clearTimeout(slowTimer);
      slowTimer = null;
      if (last !== null) frames = [last];
    },
  };
}
