/** The time in which a step must be prepared: whatever a plugin or KV does, the turn goes on or ends. */
import { stepTimeout } from '../errors.ts';
import { startTimeLimit, untilAborted } from '../time-limit.ts';
import type { LoopPorts } from './ports.ts';

/** Rejects with `step_timeout`, or with the signal's reason, also where the work ignores its signal. */
export async function withinStepTime<T>(
  ports: Pick<LoopPorts, 'limits' | 'wait'>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { stepMs } = ports.limits;
  const limit = startTimeLimit(stepMs, ports.wait, () =>
    stepTimeout(`The step was not prepared within ${stepMs} ms.`, { limit_ms: stepMs }),
  );
  const limited = AbortSignal.any([signal, limit.signal]);
  try {
    return await untilAborted(work(limited), limited);
  } finally {
    limit.end();
  }
}
