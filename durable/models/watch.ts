/** A watchdog over a stream that costs an increment a part: a few timers a stall time, none a part. */

import type { Wait } from '../time-limit.ts';

/** A stall is found out between one and one and a quarter of its time after the last part. */
const CHECKS_PER_STALL = 4;

export interface Watch {
  /** Something came. */
  touch: () => void;
  stalled: () => boolean;
  end: () => void;
}

/** Calls `onStop` once: when the signal aborts, or when nothing came for `stallMs`. */
export function startWatch(
  options: { signal: AbortSignal; stallMs: number; wait: Wait },
  onStop: () => void,
): Watch {
  let parts = 0;
  let stalled = false;
  let ended = false;
  let timer: ReturnType<Wait> | null = null;

  async function check(): Promise<void> {
    let seen = parts;
    let quiet = 0;
    while (!ended) {
      timer = options.wait(Math.ceil(options.stallMs / CHECKS_PER_STALL));
      await timer.done;
      quiet = parts === seen ? quiet + 1 : 0;
      seen = parts;
      if (ended || quiet < CHECKS_PER_STALL) continue;
      stalled = true;
      onStop();
      return;
    }
  }

  function end(): void {
    ended = true;
    timer?.cancel();
    options.signal.removeEventListener('abort', onStop);
  }

  options.signal.addEventListener('abort', onStop, { once: true });
  void check();
  return { touch: () => void parts++, stalled: () => stalled, end };
}
