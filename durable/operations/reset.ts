import { sessionBusy } from '../errors.ts';
import { type IdempotencyClaim, type SessionView, sessionView } from '../rpc.ts';
import { describeSession } from '../wiring.ts';
import { type Host, requireLive } from './host.ts';

/** The command's name in the log: what the folds of the surface look for. */
const RESET = 'reset';

/**
 * Begins the conversation anew: the model sees nothing from before, and the log keeps all of it. What waits in the
 * inbox is not of the conversation yet, and stays. Loads no transcript. Throws `session_busy` while a turn is open.
 */
export async function resetSession(
  host: Host,
  input: { by: string; idempotency: IdempotencyClaim | null },
): Promise<SessionView> {
  const { parts, driver } = requireLive(host);
  const first = parts.receipts.find(input.idempotency, sessionView);
  if (first) return first;
  if (driver.isRunning() || parts.turn() !== null) {
    throw sessionBusy('A turn is running. Wait for its end, or cancel it first.');
  }
  const view = parts.log.commit((append) => {
    append({ type: 'command/run', command: RESET, by: input.by });
    const last_seq = append({
      type: 'command/done',
      command: RESET,
      result: ['The model sees nothing from before.'],
    });
    const answer = { ...describeSession(parts, false), last_seq };
    parts.receipts.keep(input.idempotency, answer);
    return answer;
  });
  await host.faults.hit('reset.committed');
  return view;
}
