/** Which failures are asked again, and which are not. Pure. */
import type { LogEventOf } from '../../durable/transcript/events.ts';
import { RETRY } from './deployment.ts';

const PASSING = new Set([
  'model_rate_limited',
  'model_unavailable',
  'model_stalled',
  'model_stream_cut',
  'model_unreachable',
  'model_empty_answer',
]);
/** Requests of a turn from which on it may be given up. */
const MANY_REQUESTS = 20;

/** Null where the failure was rightly asked again, or rightly not. */
export function judgeRetry(failed: LogEventOf<'request/failed'>, requestsOfTurn: number): string | null {
  const { error, attempt, retry_at } = failed;
  if (retry_at !== null) return PASSING.has(error.code) ? null : `${error.code} is asked again`;
  if (!PASSING.has(error.code) || attempt >= RETRY.attempts || requestsOfTurn >= MANY_REQUESTS) return null;
  const { retry_after_ms: asked } = error.facts ?? {};
  if (typeof asked === 'number' && asked > RETRY.longestWaitMs) return null;
  return `${error.code} ends the turn at attempt ${attempt}`;
}
