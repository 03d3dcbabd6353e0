/**
 * Where a turn stands, folded from its events. The loop asks `nextAction` after every commit and a restarted object
 * asks it after reading the turn's events, so there is one way to go on, whether or not anything was killed.
 */
import {
  addUsage,
  assertNever,
  type Charge,
  type EventBody,
  type EventOf,
  type Failure,
  NO_USAGE,
  type ToolCallBlock,
  type Usage,
} from './events.ts';

export interface CallState {
  block: ToolCallBlock;
  /** `tool/call` is in the log: it may have had effects. */
  started: boolean;
  /** `tool/result` is in the log. */
  settled: boolean;
  /** A person was asked about it. */
  approval: Approval | null;
}

export interface Approval {
  id: string;
  kind: EventOf<'approval/requested'>['kind'];
  expiresAt: number | null;
  /** Null until somebody decided. */
  decision: Pick<EventOf<'approval/resolved'>, 'outcome' | 'by' | 'text'> | null;
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
  /** When the turn started; 0 where the events say no time. */
  startedAt: number;
  /** Requests of the turn, and those of them that gave no answer: failed, or cut off by a restart. */
  requests: number;
  lost: number;
  /** The newest request failed and is to be made again. */
  failed: { error: Failure; retryAt: number } | null;
  /** What the newest request set aside, until it is settled. */
  pending: Charge | null;
  /** Settled: the answers' charges, and what was set aside for requests that gave none and may be billed. */
  charged: Charge;
  toolCalls: number;
  /** Answers and results so far: what a takeover by another life of the object counts as progress. */
  progress: number;
  clock: TurnClock;
}

export interface TurnClock {
  modelMs: number;
  modelSince: number | null;
  toolsMs: number;
  toolsSince: number | null;
  /** Waiting for people: no time that a budget counts. */
  waitedMs: number;
  waitedSince: number | null;
}

export type NextAction =
  | { kind: 'boundary' }
  | { kind: 'request'; step: number; attempt: number }
  /** Up to the first call that waits for a person, in the model's order. */
  | { kind: 'calls'; step: number; calls: CallState[] }
  /** The next call waits for a person: until then, or for ever where it is null. */
  | { kind: 'wait'; step: number; until: number | null }
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
    startedAt: 0,
    requests: 0,
    lost: 0,
    failed: null,
    pending: null,
    charged: NO_CHARGE,
    toolCalls: 0,
    progress: 0,
    clock: { modelMs: 0, modelSince: null, toolsMs: 0, toolsSince: null, waitedMs: 0, waitedSince: null },
  };
}

/** The state after one more event of the log. Events of no turn leave it as it is. Without `at`, nothing took time. */
export function foldTurn(state: TurnState, event: EventBody & { at?: number }): TurnState {
  const { at = 0 } = event;
  switch (event.type) {
    case 'turn/start':
      return { ...openTurn(event.turn), startedAt: at };
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
      return foldAttempt(state, event, at);
    case 'request/failed':
      return foldFailed(state, event, at);
    case 'assistant/message':
      return foldAnswer(state, event, at);
    case 'tool/call':
      return {
        ...state,
        calls: markCall(state.calls, event.call, { started: true }),
        toolCalls: state.toolCalls + 1,
        clock: { ...state.clock, toolsSince: state.clock.toolsSince ?? at },
      };
    case 'tool/result':
      return foldResult(state, event, at);
    case 'approval/requested':
      return foldRequested(state, event, at);
    case 'approval/resolved':
      return foldResolved(state, event, at);
    case 'step/end':
      return { ...state, stepOpen: false };
    case 'turn/end':
      return { ...state, ended: true };
    case 'session/created':
    case 'inbox/admitted':
    case 'inbox/discarded':
    case 'user/message':
    case 'request/header':
    case 'todo/write':
    case 'command/run':
    case 'command/done':
      return state;
    default:
      return assertNever(event);
  }
}

function foldAttempt(state: TurnState, event: EventOf<'request/attempt'>, at: number): TurnState {
  const { clock, failed } = state;
  // The request before was cut off by a restart: nobody can say any more what it cost, or waited for it.
  const cut = !state.answered && state.attempts > 0 && !failed;
  const waited = failed && clock.modelSince !== null ? at - clock.modelSince : 0;
  return {
    ...state,
    attempts: event.attempt,
    requests: state.requests + 1,
    lost: state.lost + (cut ? 1 : 0),
    failed: null,
    pending: event.reserved ?? null,
    charged: cut && state.pending ? addCharge(state.charged, state.pending) : state.charged,
    clock: { ...clock, modelMs: clock.modelMs + waited, modelSince: at },
  };
}

function foldFailed(state: TurnState, event: EventOf<'request/failed'>, at: number): TurnState {
  const { clock, pending } = state;
  const { error, retry_at: retryAt } = event;
  return {
    ...state,
    lost: state.lost + 1,
    failed: retryAt === null ? null : { error, retryAt },
    pending: null,
    charged: event.began && pending ? addCharge(state.charged, pending) : state.charged,
    // The pause before the next attempt is waiting for the model, too.
    clock: {
      ...clock,
      modelMs: clock.modelMs + (clock.modelSince === null ? 0 : at - clock.modelSince),
      modelSince: retryAt === null ? null : at,
    },
  };
}

function foldAnswer(state: TurnState, event: EventOf<'assistant/message'>, at: number): TurnState {
  const { clock } = state;
  const blocks = event.content.filter((block) => block.type === 'tool-call');
  const { charge = { tokens: event.usage.input + event.usage.output, micro_usd: null } } = event;
  return {
    ...state,
    answered: true,
    finish: event.finish,
    calls: blocks.map((block) => ({ block, started: false, settled: false, approval: null })),
    usage: addUsage(state.usage, event.usage),
    failed: null,
    pending: null,
    charged: addCharge(state.charged, charge),
    progress: state.progress + 1,
    clock: {
      ...clock,
      modelMs: clock.modelMs + (clock.modelSince === null ? 0 : at - clock.modelSince),
      modelSince: null,
    },
  };
}

function foldResult(state: TurnState, event: EventOf<'tool/result'>, at: number): TurnState {
  const { clock } = state;
  const calls = markCall(state.calls, event.call, { settled: true });
  const rests = calls.every((call) => call.settled || !call.started);
  const since = clock.toolsSince;
  return {
    ...state,
    calls,
    progress: state.progress + 1,
    clock:
      rests && since !== null ? { ...clock, toolsMs: clock.toolsMs + at - since, toolsSince: null } : clock,
  };
}

function foldRequested(state: TurnState, event: EventOf<'approval/requested'>, at: number): TurnState {
  const { approval: id, kind, expires_at: expiresAt } = event;
  return {
    ...state,
    calls: markCall(state.calls, event.call, { approval: { id, kind, expiresAt, decision: null } }),
    clock: { ...state.clock, waitedSince: state.clock.waitedSince ?? at },
  };
}

function foldResolved(state: TurnState, event: EventOf<'approval/resolved'>, at: number): TurnState {
  const { outcome, by, text } = event;
  const decision = { outcome, by, ...(text === undefined ? {} : { text }) };
  const calls = state.calls.map((call) =>
    call.approval?.id === event.approval ? { ...call, approval: { ...call.approval, decision } } : call,
  );
  const { clock } = state;
  const waits = calls.some(isWaiting);
  const since = clock.waitedSince;
  return {
    ...state,
    calls,
    progress: state.progress + 1,
    clock:
      waits || since === null
        ? clock
        : { ...clock, waitedMs: clock.waitedMs + at - since, waitedSince: null },
  };
}

/** Whether a person has yet to decide about the call. */
export function isWaiting({ settled, approval }: CallState): boolean {
  return !settled && approval !== null && approval.decision === null;
}

export const NO_CHARGE: Charge = { tokens: 0, micro_usd: 0 };

/** Money that is unknown in one of them is unknown in the sum. */
export function addCharge(a: Charge, b: Charge): Charge {
  const money = a.micro_usd === null || b.micro_usd === null ? null : a.micro_usd + b.micro_usd;
  return { tokens: a.tokens + b.tokens, micro_usd: money };
}

/** What the turn needs next. */
export function nextAction(state: TurnState): NextAction {
  const { step } = state;
  if (!state.stepOpen) return { kind: 'boundary' };
  if (!state.answered) return { kind: 'request', step, attempt: state.attempts + 1 };
  const open = state.calls.filter((call) => !call.settled);
  if (open.length === 0) return { kind: 'close-step', step };
  const first = open.findIndex(isWaiting);
  if (first === 0) return { kind: 'wait', step, until: open[0]?.approval?.expiresAt ?? null };
  return { kind: 'calls', step, calls: first < 0 ? open : open.slice(0, first) };
}

function markCall(calls: CallState[], id: string, change: Partial<CallState>): CallState[] {
  return calls.map((call) => (call.block.id === id ? { ...call, ...change } : call));
}
