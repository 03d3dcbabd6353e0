/** What an object does first about a turn that an earlier life left open. */
import { repairCalls } from '../transcript/index.ts';
import { TurnCancelled } from './driver.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import { openTurnOf } from './reservation.ts';
import { restoreTools } from './restored-tools.ts';
import { StepNotEntered } from './step.ts';
import { withinStepTime } from './step-time.ts';

/** Takeovers without an answer or a result between them: what the turn does next kills the object. */
const MOST_IN_ROW = 8;
/** Takeovers of one turn, whatever it achieves between them. */
const MOST_IN_ALL = 100;

/** Carries out why the turn ends here. */
export class TurnInterrupted extends Error {}

/**
 * How an open turn was left: by an earlier life of the object; by this one, which could not write the log; or by this
 * one, to wait for a person.
 */
export type Left = 'restarted' | 'failed' | 'parked';

/**
 * What comes first: a takeover from an earlier life is counted before any work, so that a turn which kills its object
 * ends after so many; a cancel that was acknowledged before is heeded; calls that nobody is running are settled. Throws
 * why the turn ends here.
 */
export async function goOn(ports: LoopPorts, left: Left, signal: AbortSignal): Promise<void> {
  const why = left === 'restarted' ? await countTakeover(ports) : null;
  heedCancel(ports);
  if (why) {
    // A turn that ends before its first step takes its message with it, or it would be poison to the next one, too.
    const claimed = openTurnOf(ports).step === 0 ? ports.inbox.peekForTurn() : [];
    throw new StepNotEntered(claimed, null, new TurnInterrupted(why));
  }
  if (left !== 'parked') await recoverCalls(ports, signal);
}

/** Returns why there is no further one, or null. */
async function countTakeover(ports: LoopPorts): Promise<string | null> {
  const { turn, progress } = openTurnOf(ports);
  const { resumed } = ports.state.read();
  const before = resumed?.turn === turn ? resumed : null;
  const total = (before?.total ?? 0) + 1;
  const inRow = before?.progress === progress ? before.inRow + 1 : 1;
  await commitAt(ports, ['takeover.counting', 'takeover.counted'], () =>
    ports.state.write({ resumed: { turn, total, inRow, progress } }),
  );
  if (inRow <= MOST_IN_ROW && total <= MOST_IN_ALL) return null;
  const times = inRow > MOST_IN_ROW ? `${inRow} times in a row without getting further` : `${total} times`;
  return `The service restarted in the middle of this turn ${times}.`;
}

/** Throws where somebody cancelled the turn while nothing ran in it. */
function heedCancel(ports: LoopPorts): void {
  const { cancel } = ports.state.read();
  if (cancel?.turn === openTurnOf(ports).turn) throw new TurnCancelled(cancel.by);
}

/**
 * Gives every call that nobody is running a result, so that the model knows: started with an unknown outcome, or
 * never started. A started call whose tool is idempotent stays open and runs again under its id.
 */
async function recoverCalls(ports: LoopPorts, signal: AbortSignal): Promise<void> {
  const state = openTurnOf(ports);
  if (!state.stepOpen) return;
  // A step in which a person was asked is one that waits through restarts: what has not started is still to come.
  const waits = state.calls.some(({ approval }) => approval !== null);
  const tools = state.calls.some(({ started }) => started)
    ? await withinStepTime(ports, signal, (limited) => restoreTools(ports, ports.headers.newest(), limited))
    : null;
  const isIdempotent = (name: string): boolean => tools?.get(name)?.idempotent === true;
  const repairs = repairCalls(state, 'restarted', ({ block, started }) =>
    started ? isIdempotent(block.name) : waits,
  );
  if (repairs.length === 0) return;
  await pass(ports, 'calls.recovering');
  ports.log.commit((append) => {
    for (const event of repairs) append(event);
  });
  await pass(ports, 'calls.recovered');
}
