/**
 * Where a turn stands, folded from its events. The loop asks `nextAction` after every commit and a restarted object
 * asks it after reading the turn's events, so there is one way to go on, whether or not anything was killed.
 */
import { addUsage, assertNever, type EventBody, NO_USAGE, type ToolCallBlock, type Usage } from './events.ts';

export interface CallState {
  block: ToolCallBlock;
  /** `tool/call` is in the log: it may have had effects. */
  started: boolean;
  /** `tool/result` is in the log. */
  settled: boolean;
}

export interface TurnState {
  turn: number;
  /** Of the newest step; 0 before the first. */
  step: number;
  stepOpen: boolean;
  /** Requests of the newest step so far. */
  attempts: number;
  /** The newest step's answer is in the log. */
  answered: boolean;
  finish: string | null;
  calls: CallState[];
  usage: Usage;
  ended: boolean;
}

export type NextAction =
  | { kind: 'boundary' }
  | { kind: 'request'; step: number; attempt: number }
  | { kind: 'calls'; step: number; calls: CallState[] }
  | { kind: 'close-step'; step: number };

/** The state before `turn/start`. */
export function openTurn(turn: number): TurnState {
  return {
    turn,
    step: 0,
    stepOpen: false,
    attempts: 0,
    answered: false,
    finish: null,
    calls: [],
    usage: NO_USAGE,
    ended: false,
  };
}

/** The state after one more event of the log. Events of no turn leave it as it is. */
export function foldTurn(state: TurnState, event: EventBody): TurnState {
  switch (event.type) {
    case 'turn/start':
      return openTurn(event.turn);
    case 'step/start':
      return {
        ...state,
        step: event.step,
        stepOpen: true,
        attempts: 0,
        answered: false,
        finish: null,
        calls: [],
      };
    case 'request/attempt':
      return { ...state, attempts: event.attempt };
    case 'assistant/message': {
      const blocks = event.content.filter((block) => block.type === 'tool-call');
      const calls = blocks.map((block) => ({ block, started: false, settled: false }));
      return {
        ...state,
        answered: true,
        finish: event.finish,
        calls,
        usage: addUsage(state.usage, event.usage),
      };
    }
    case 'tool/call':
      return { ...state, calls: markCall(state.calls, event.call, { started: true }) };
    case 'tool/result':
      return { ...state, calls: markCall(state.calls, event.call, { settled: true }) };
    case 'step/end':
      return { ...state, stepOpen: false };
    case 'turn/end':
      return { ...state, ended: true };
    case 'session/created':
    case 'inbox/admitted':
    case 'inbox/discarded':
    case 'user/message':
    case 'request/header':
      return state;
    default:
      return assertNever(event);
  }
}

/** What the turn needs next. */
export function nextAction(state: TurnState): NextAction {
  const { step } = state;
  if (!state.stepOpen) return { kind: 'boundary' };
  if (!state.answered) return { kind: 'request', step, attempt: state.attempts + 1 };
  const open = state.calls.filter((call) => !call.settled);
  return open.length > 0 ? { kind: 'calls', step, calls: open } : { kind: 'close-step', step };
}

function markCall(calls: CallState[], id: string, change: Partial<CallState>): CallState[] {
  return calls.map((call) => (call.block.id === id ? { ...call, ...change } : call));
}
