/** How a turn ends that nobody ran to its end: a fork cut it short, or its rows cannot be read. Pure. */
import { spendOfTurn } from '../loop/index.ts';
import { type EventOf, foldTurn, type LogEvent, openTurn, type TurnState } from '../transcript/index.ts';

/** The `turn/end` of the turn whose events these are. It took what it had taken when its last event was logged. */
export function closeTurn(events: readonly LogEvent[]): EventOf<'turn/end'> {
  const state = events.reduce(foldTurn, openTurn(0));
  return interruptTurn(state, events.at(-1)?.at ?? state.startedAt, 'The session was forked here.');
}

/** `at` is when its last event was logged. */
export function interruptTurn(state: TurnState, at: number, message: string): EventOf<'turn/end'> {
  const { wall_ms: ms, tool_calls, tokens, micro_usd } = spendOfTurn(state, at);
  const modelMs = Math.min(ms, state.clock.modelMs);
  const toolsMs = Math.min(ms - modelMs, state.clock.toolsMs);
  return {
    type: 'turn/end',
    turn: state.turn,
    steps: state.step,
    reason: { kind: 'interrupted', message },
    usage: state.usage,
    receipt: {
      attempts: state.requests,
      tool_calls,
      restarts: 0,
      rows_written: 0,
      ms,
      model_ms: modelMs,
      tools_ms: toolsMs,
      harness_ms: ms - modelMs - toolsMs,
      charge: { tokens, micro_usd },
    },
  };
}
