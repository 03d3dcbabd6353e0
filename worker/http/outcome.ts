/** Answers of objects, as values or as errors of this side. */
import { type Outcome, PerchError, sessionNotFound, unavailable } from '../../durable/errors.ts';

/** One sentence for a session that never was, was erased, or is another tenant's. */
export function createSessionNotFound(): PerchError {
  return sessionNotFound('No session of this tenant has this id.');
}

/** The outcome's value. Throws its error, and `unavailable` where the object is restarting or overloaded. */
export async function readOutcome<T>(call: Promise<Outcome<T>>): Promise<T> {
  const outcome = await reachObject(call);
  if (outcome.ok) return outcome.value;
  throw outcome.error.code === 'session_not_found' ? createSessionNotFound() : new PerchError(outcome.error);
}

/** What the platform says when an object cannot be reached for now: the `retryable` and `overloaded` of its errors. */
export async function reachObject<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Error && (Reflect.get(error, 'retryable') || Reflect.get(error, 'overloaded'))) {
      throw unavailable('The object behind this is restarting or busy.');
    }
    throw error;
  }
}
