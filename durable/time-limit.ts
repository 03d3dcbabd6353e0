/** Time as the object spends it: pauses that can be let go, limits on work, races with an abort. */

/** Resolves after so many milliseconds; `cancel` lets go of the timer, and `done` then stays open. */
export type Wait = (ms: number) => { done: Promise<void>; cancel: () => void };

/** The real clock's `Wait`. */
export function waitWithTimer(ms: number): ReturnType<Wait> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return { done: promise, cancel: () => clearTimeout(timer) };
}

/**
 * A signal that fires after so many milliseconds unless it is let go. `AbortSignal.timeout` cannot be let go: its
 * pending timer would keep the object awake, and billed, long after the work is done.
 */
export interface TimeLimit {
  signal: AbortSignal;
  end: () => void;
}

export function startTimeLimit(
  ms: number,
  wait: Wait = waitWithTimer,
  reason: () => unknown = () => new DOMException('the time is up', 'TimeoutError'),
): TimeLimit {
  const controller = new AbortController();
  const timer = wait(Math.min(ms, LONGEST_TIMER_MS));
  void timer.done.then(() => controller.abort(reason()));
  return { signal: controller.signal, end: timer.cancel };
}

/** Timers of the platform hold 31 bits; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits, or rejects with the signal's reason as soon as it fires. */
export async function pause(ms: number, signal: AbortSignal, wait: Wait): Promise<void> {
  const timer = wait(Math.min(ms, LONGEST_TIMER_MS));
  try {
    await untilAborted(timer.done, signal);
  } finally {
    timer.cancel();
  }
}

/** Settles with the work, or rejects as soon as the signal fires: work that ignores it holds nobody up. */
export async function untilAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  if (!(work instanceof Promise)) return work;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  // Nobody may be racing any more when the signal fires.
  aborted.catch(() => undefined);
  work.catch(() => undefined);
  signal.throwIfAborted();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
