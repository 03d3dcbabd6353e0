/** What an object does first about a turn that an earlier life left open. */
import { repairCalls } from '../transcript/index.ts';
import { TurnCancelled } from './driver.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import { openTurnOf } from './reservation.ts';
import { StepNotEntered } from './step.ts';

/** Takeovers without an answer or a result between them: what the turn does next kills the object. */
const MOST_IN_ROW = 8;
/** Takeovers of one turn, whatever it achieves between them. */
const MOST_IN_ALL = 100;

/** Carries out why the turn ends here. */
export class TurnInterrupted extends Error {}

/**
 * Counts the takeover before any work, so that a turn which kills its object ends after so many; heeds a cancel that
 * was acknowledged before the restart; then settles the calls that nobody is running. Throws why the turn ends here.
 */
export async function takeOver(ports: LoopPorts): Promise<void> {
  const { turn, progress } = openTurnOf(ports);
  const { resumed, cancel } = ports.state.read();
  const before = resumed?.turn === turn ? resumed : null;
  const total = (before?.total ?? 0) + 1;
  const inRow = before?.progress === progress ? before.inRow + 1 : 1;
  await commitAt(ports, ['takeover.counting', 'takeover.counted'], () =>
    ports.state.write({ resumed: { turn, total, inRow, progress } }),
  );
  if (cancel?.turn === turn) throw new TurnCancelled(cancel.by);
  if (inRow > MOST_IN_ROW || total > MOST_IN_ALL) {
    const times = inRow > MOST_IN_ROW ? `${inRow} times in a row without getting further` : `${total} times`;
    // A turn that ends before its first step takes its message with it, or it would be poison to the next one, too.
    const claimed = openTurnOf(ports).step === 0 ? ports.inbox.peekForTurn() : [];
    const cause = new TurnInterrupted(`The service restarted in the middle of this turn ${times}.`);
    throw new StepNotEntered(claimed, null, cause);
  }
  await recoverCalls(ports);
}

/**
 * Gives every call that nobody is running a result, so that the model knows: started with an unknown outcome, or
 * never started. A started call whose tool is idempotent stays open and runs again under its id.
 */
async function recoverCalls(ports: LoopPorts): Promise<void> {
  const state = openTurnOf(ports);
  if (!state.stepOpen) return;
  const { tools } = ports.plan();
  const isIdempotent = (name: string): boolean =>
    tools.some(({ definition }) => definition.name === name && definition.idempotent === true);
  const repairs = repairCalls(state, 'restarted', (call) => isIdempotent(call.block.name));
  if (repairs.length === 0) return;
  await pass(ports, 'calls.recovering');
  ports.log.commit((append) => {
    for (const event of repairs) append(event);
  });
  await pass(ports, 'calls.recovered');
}
