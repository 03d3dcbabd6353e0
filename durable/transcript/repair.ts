/**
 * What a turn's transcript lacks so that a provider accepts it: a result for every call, and a closed step. Pure and
 * deterministic; used when a turn ends early, and when an object wakes in the middle of one.
 */
import type { EventBody } from './events.ts';
import type { CallState, TurnState } from './turn-state.ts';

/** Why calls have no results: somebody stopped the turn, it failed, the object restarted, a budget was used up. */
export type Interruption = 'aborted' | 'failed' | 'restarted' | 'budget';

const STOPPED: Record<Interruption, string> = {
  aborted: 'the turn was cancelled',
  failed: 'the turn failed',
  restarted: 'the service restarted',
  budget: "the turn's budget was used up",
};

/** Results for all open calls. Those that `keepOpen` accepts are left: they can still run, or run again. */
export function repairCalls(
  state: TurnState,
  interruption: Interruption,
  keepOpen: (call: CallState) => boolean,
): EventBody[] {
  return state.calls
    .filter((call) => !call.settled && !keepOpen(call))
    .map((call) => ({
      type: 'tool/result',
      turn: state.turn,
      step: state.step,
      call: call.block.id,
      name: call.block.name,
      content: [{ type: 'text', text: describeOpenCall(call, STOPPED[interruption]) }],
      error: call.started ? 'TOOL_OUTCOME_UNKNOWN' : 'TOOL_NOT_STARTED',
      surface: 'append',
    }));
}

/** Everything that closes the open step, in order. */
export function repairStep(state: TurnState, interruption: Interruption): EventBody[] {
  if (!state.stepOpen) return [];
  const { turn, step } = state;
  return [...repairCalls(state, interruption, () => false), { type: 'step/end', turn, step }];
}

function describeOpenCall(call: CallState, cause: string): string {
  const { name } = call.block;
  return call.started
    ? `TOOL_OUTCOME_UNKNOWN: ${name} was started, and ${cause} before it answered. It may have taken effect. Check before you run it again.`
    : `TOOL_NOT_STARTED: ${name} did not run, because ${cause} first. Run it again if it is still wanted.`;
}
