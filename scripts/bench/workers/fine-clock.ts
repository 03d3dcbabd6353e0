/**
 * Parts of a millisecond from a clock that tells whole ones, as workerd's does: a measurement begins as the clock
 * ticks, and its end is found by counting how often the clock can be read before the next tick.
 */
export interface FineClock {
  /** Waits, busily, for a tick: one to two milliseconds. What is to be measured follows at once. */
  start: () => void;
  /** Milliseconds since `start` returned; takes up to one more to find out. */
  stop: () => number;
}

export function createFineClock(now: () => number): FineClock {
  let startedAt = 0;
  let readsPerMs = 1;
  /** Reads until the next tick. */
  const spin = (): number => {
    const from = now();
    let reads = 1;
    while (now() === from) reads++;
    return reads;
  };
  return {
    start() {
      spin();
      // A whole millisecond, under the conditions of just now.
      const from = now();
      const reads = spin();
      startedAt = now();
      readsPerMs = reads / Math.max(1, startedAt - from);
    },
    stop() {
      const at = now();
      const reads = spin();
      return at + 1 - reads / readsPerMs - startedAt;
    },
  };
}
