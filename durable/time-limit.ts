/**
 * A signal that fires after so many milliseconds unless it is let go. `AbortSignal.timeout` cannot be let go: its
 * pending timer would keep the object awake, and billed, long after the work is done.
 */
export interface TimeLimit {
  signal: AbortSignal;
  end: () => void;
}

export function startTimeLimit(ms: number): TimeLimit {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), ms);
  return { signal: controller.signal, end: () => clearTimeout(timer) };
}
