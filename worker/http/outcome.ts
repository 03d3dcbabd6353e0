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

/** What the platform's errors say of an object that cannot be reached for now, or was ended under the request. */
const PASSING = ['retryable', 'overloaded', 'durableObjectReset'];

/** Throws `unavailable` for those: the same request again is answered. */
export async function reachObject<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Error && PASSING.some((name) => Reflect.get(error, name))) {
      throw unavailable('The object behind this is restarting or busy.');
    }
    throw error;
  }
}
