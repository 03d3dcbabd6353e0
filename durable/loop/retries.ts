/** Which failures of a model pass by themselves, and when to ask again. Pure: chance is an argument. */
import type { RetryPolicy } from '../plugins.ts';
import type { Failure } from '../transcript/index.ts';

/** Rate limit, server error, timeout, transport, a cut answer, an empty one. The rest would fail again. */
const PASSING: ReadonlySet<string> = new Set([
  'model_rate_limited',
  'model_unavailable',
  'model_stalled',
  'model_stream_cut',
  'model_unreachable',
  'model_empty_answer',
]);

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 5,
  baseMs: 500,
  capMs: 20_000,
  longestWaitMs: 60_000,
};

/** Requests without an answer in one turn, whatever its steps achieve between them. */
export const MOST_LOST = 20;

/**
 * Milliseconds until the next request; null where there is none. The pause doubles with each failure of the step and
 * is between half and the whole of that, so that sessions that failed together do not come back together. A
 * provider's Retry-After is the least that is waited.
 */
export function planRetry(
  policy: RetryPolicy,
  failure: Failure,
  counts: { attempt: number; lost: number },
  random: number,
): number | null {
  if (!PASSING.has(failure.code)) return null;
  if (counts.attempt >= policy.attempts || counts.lost >= MOST_LOST) return null;
  const most = Math.min(policy.capMs, policy.baseMs * 2 ** (counts.attempt - 1));
  const pause = most / 2 + random * (most / 2);
  const asked = failure.facts?.retry_after_ms;
  if (typeof asked !== 'number') return Math.round(pause);
  return asked > policy.longestWaitMs ? null : Math.round(Math.max(asked, pause));
}
