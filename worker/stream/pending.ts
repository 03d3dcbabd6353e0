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
  /** Until something is put, `wake` is called or `waitMs` are over. */
  wait: (waitMs: number) => Promise<void>;
  wake: () => void;
}

export function createPending(): Pending {
  let frames: Frame[] = [];
  let total = 0;
  let wake = (): void => {};
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
        const timer = setTimeout(resolve, waitMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    wake: () => wake(),
  };
}
