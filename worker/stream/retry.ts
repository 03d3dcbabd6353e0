const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 2_000;
/** Some ten seconds in all. The reader can resume later, by itself. */
const MAX_FAILURES = 10;
/** What was open this long was no failure to open it. */
const SETTLED_MS = 5_000;

/** How long to wait before another attempt, after failures in a row. Milliseconds. */
export interface Retry {
  /** 0 where nothing failed, or once; null where it is time to give up. */
  delay: () => number | null;
  succeed: () => void;
  /** `livedMs`: how long the attempt held before it failed. */
  fail: (livedMs: number) => void;
}

export function createRetry(): Retry {
  let failures = 0;
  return {
    delay() {
      if (failures > MAX_FAILURES) return null;
      // An object that was restarted is there again at once.
      return failures < 2 ? 0 : Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 2), LONGEST_BACKOFF_MS);
    },
    succeed() {
      failures = 0;
    },
    fail(livedMs) {
      failures = livedMs < SETTLED_MS ? failures + 1 : 1;
    },
  };
}
