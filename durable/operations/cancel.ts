import { type CancelTurn, type SessionView, sessionView } from '../rpc.ts';
import { describeSession, type SessionParts } from '../wiring.ts';
import { discardAll } from './discard.ts';
import { restIfIdle, wakeIfNeeded } from './drive.ts';
import { type Host, requireLive } from './host.ts';

/**
 * Stops the open turn; what people saw of its answer is kept. One commit: what the state row says of it, so that a
 * crash after the acknowledgement changes nothing, the messages that are discarded, the receipt. Without an open turn,
 * with another turn than `turn`, and for the second time, it changes nothing.
 */
export async function cancelTurn(host: Host, input: CancelTurn): Promise<SessionView> {
  const { parts, driver } = requireLive(host);
  const first = parts.receipts.find(input.idempotency, sessionView);
  if (first) return first;
  const open = parts.turn()?.turn ?? null;
  const isMeant = input.turn === null || input.turn === open;
  const lastSeq = parts.log.lastSeq();
  const view = parts.log.commit((append) => {
    if (isMeant && open !== null) markCancelled(parts, open, input.by);
    // What people saw up to here is what they keep.
    parts.stream.flush();
    // A claim that a step is being prepared with goes too: its turn ends here.
    const discarded =
      isMeant && input.clearInbox
        ? discardAll(parts, append, parts.inbox.all(), `cleared by ${input.by}`)
        : 0;
    const answer = { ...describeSession(parts, driver.isRunning()), last_seq: lastSeq + discarded };
    parts.receipts.keep(input.idempotency, answer);
    return answer;
  });
  if (isMeant && open !== null) driver.cancel(input.by);
  await host.faults.hit('cancel.committed');
  // A turn that waits to be tried again ends now; without one, and with nothing left, nothing is guarded.
  wakeIfNeeded(host);
  restIfIdle(host);
  return view;
}

/** Part of a commit. The first one who cancelled stays the one who did. */
export function markCancelled({ state, inbox, turn: open }: SessionParts, turn: number, by: string): void {
  if (state.read().cancel?.turn === turn) return;
  const claimed = open()?.step === 0 ? inbox.previewTurn().map(({ message }) => message.id) : [];
  state.write({ cancel: { turn, by, claimed } });
}
