/**
 * The rules of a session's log, as a model of its own: the order of events, the inbox, attempts, calls, budgets. It
 * shares no code with the service. Pure.
 */
import type { LogEvent, LogEventOf, TurnEndReason, Usage } from '../../durable/transcript/events.ts';
import { addUsage, checkReceipt } from './check-receipt.ts';
import { judgeRetry } from './check-retry.ts';
import { addCost, answerCost, type Cost, type LimitsOfAgent, NO_COST, overdraws } from './cost-model.ts';
import { createInboxModel, type Fate } from './inbox-model.ts';
import type { Complain } from './problems.ts';

/** What the log says at its end. */
export interface LogSummary {
  fates: ReadonlyMap<string, Fate>;
  /** Waiting, in the order of admission. */
  waiting: string[];
  turns: number;
  isTurnOpen: boolean;
  headerSeq: number;
  usage: Usage;
  /** Of the turns that have ended. */
  spent: { steps: number; tool_calls: number; wall_ms: number; tokens: number; micro_usd: number };
  /** Reasons by turn. */
  ends: ReadonlyMap<number, TurnEndReason>;
  /** The seqs that a model sees. */
  surface: number[];
}

interface CallModel {
  name: string;
  started: boolean;
  settled: boolean;
}

interface StepModel {
  step: number;
  claimed: Set<string>;
  attempts: number;
  /** The newest attempt: what it set aside, and whether it is still without an answer. */
  pending: Cost | null;
  answered: boolean;
  interrupted: boolean;
  calls: Map<string, CallModel>;
  failed: LogEventOf<'request/failed'> | null;
}

interface TurnModel {
  turn: number;
  startedAt: number;
  steps: number;
  requests: number;
  toolCalls: number;
  usage: Usage;
  cost: Cost;
  boundarySeq: number;
  /** Whether the newest step has an answer that asks for nothing more. */
  isAnswered: boolean;
  /** When the event was logged at which a fork cut it off. */
  parted: number | null;
  step: StepModel | null;
}

const NO_USAGE: Usage = { input: 0, input_cached: 0, input_cache_write: 0, output: 0, reasoning: 0 };

/**
 * Events of a fork's parent are checked like its own: a copy of a log is a log. A turn that a fork cut off (`forkedAt`,
 * its own and its ancestors') took as long as it had until there.
 */
export function checkLog(
  events: readonly LogEvent[],
  limits: LimitsOfAgent,
  forkedAt: readonly number[],
  complain: Complain,
): LogSummary {
  const checker = createChecker(limits, forkedAt, complain);
  for (const event of events) checker.take(event);
  return checker.summary();
}

function createChecker(limits: LimitsOfAgent, forkedAt: readonly number[], complain: Complain) {
  const inbox = createInboxModel(complain);
  const ends = new Map<number, TurnEndReason>();
  let seq = 0;
  let at = 0;
  let turns = 0;
  let turn: TurnModel | null = null;
  let headerSeq = 0;
  let usage = NO_USAGE;
  let spent = { steps: 0, tool_calls: 0, wall_ms: 0, ...NO_COST };
  let surface: number[] = [];
  let command: string | null = null;

  const wrong = (text: string): void => complain('wrong', `event ${seq}: ${text}`);
  const openTurn = (event: { turn: number }): TurnModel | null => {
    if (turn?.turn === event.turn) return turn;
    wrong(`it is of turn ${event.turn}, and ${turn ? `turn ${turn.turn}` : 'no turn'} is open`);
    return null;
  };
  const openStep = (event: { turn: number; step?: number | undefined }): StepModel | null => {
    const open = openTurn(event)?.step ?? null;
    if (open?.step === event.step) return open;
    wrong(`it is of step ${event.step}, and ${open ? `step ${open.step}` : 'no step'} is open`);
    return null;
  };

  const startStep = (event: LogEventOf<'step/start'>): void => {
    const open = openTurn(event);
    if (!open) return;
    if (open.step) wrong('a step starts in another one');
    if (event.step !== open.steps + 1) wrong(`step ${event.step} follows step ${open.steps}`);
    inbox.claim(event.claimed, event.step === 1, open.boundarySeq);
    open.steps = event.step;
    open.step = {
      step: event.step,
      claimed: new Set(event.claimed),
      attempts: 0,
      pending: null,
      answered: false,
      interrupted: false,
      calls: new Map(),
      failed: null,
    };
    const { steps } = limits.turn;
    if (steps !== undefined && event.step > steps) wrong(`${event.step} steps, and ${steps} are allowed`);
    const inAll = spent.steps + event.step;
    const most = limits.session.steps;
    if (most !== undefined && inAll > most) wrong(`${inAll} steps of the session, and ${most} are allowed`);
  };
  const takeMessage = (event: LogEventOf<'user/message'>): void => {
    surface.push(event.seq);
    const { id } = event.message;
    if (event.step === undefined) {
      openTurn(event);
      inbox.say(id);
      return;
    }
    const step = openStep(event);
    if (!step) return;
    if (step.attempts > 0) wrong('a message enters a step whose request was made');
    if (step.claimed.delete(id)) return;
    if (inbox.knows(id)) complain('doubled', `event ${seq}: ${id} is said and was not claimed here`);
  };
  const takeAttempt = (event: LogEventOf<'request/attempt'>): void => {
    const step = openStep(event);
    if (!step || !turn) return;
    if (step.answered) wrong('a request after the answer');
    if (step.claimed.size > 0)
      complain('lost', `event ${seq}: claimed and not said: ${[...step.claimed].join()}`);
    if (event.attempt !== step.attempts + 1) wrong(`attempt ${event.attempt} follows ${step.attempts}`);
    if (step.failed?.retry_at === null) wrong('a request after a failure that is not asked again');
    if (step.failed?.retry_at && event.at < step.failed.retry_at) {
      wrong(`asked again ${step.failed.retry_at - event.at} ms too early`);
    }
    // A request that a restart cut off stays paid for.
    if (step.pending) turn.cost = addCost(turn.cost, step.pending);
    step.attempts = event.attempt;
    step.failed = null;
    turn.requests++;
    step.pending = event.reserved
      ? { tokens: event.reserved.tokens, micro_usd: event.reserved.micro_usd ?? 0 }
      : NO_COST;
    const over = overdraws(limits, addCost(turn.cost, step.pending), addCost(spent, turn.cost, step.pending));
    if (over) wrong(over);
  };
  const takeFailure = (event: LogEventOf<'request/failed'>): void => {
    const step = openStep(event);
    if (!step || !turn) return;
    if (event.attempt !== step.attempts || step.answered || step.failed)
      wrong('it failed, and nobody had asked');
    step.failed = event;
    const unjust = judgeRetry(event, turn.requests);
    if (unjust) wrong(unjust);
    const { retry_after_ms: asked } = event.error.facts ?? {};
    if (typeof asked === 'number' && event.retry_at !== null && event.retry_at < event.at + asked) {
      wrong(`Retry-After is ${asked} ms, and the next request is due in ${event.retry_at - event.at}`);
    }
    if (event.began && step.pending) turn.cost = addCost(turn.cost, step.pending);
    step.pending = null;
  };
  const takeAnswer = (event: LogEventOf<'assistant/message'>): void => {
    surface.push(event.seq);
    const step = openStep(event);
    if (!step || !turn) return;
    if (step.answered) complain('doubled', `event ${seq}: a second answer in one step`);
    if (event.attempt !== step.attempts)
      wrong(`the answer is of attempt ${event.attempt} of ${step.attempts}`);
    if (step.failed) wrong('an answer to a request that failed');
    step.answered = true;
    step.interrupted = event.interrupted === true;
    for (const block of event.content) {
      if (block.type !== 'tool-call') continue;
      if (step.calls.has(block.id)) wrong(`two calls have the id ${block.id}`);
      step.calls.set(block.id, { name: block.name, started: false, settled: false });
    }
    const { input, output } = event.usage;
    turn.usage = addUsage(turn.usage, event.usage);
    // An answer that was stopped may have told nothing of what it used.
    const cost = step.interrupted && input + output === 0 ? step.pending : answerCost(event.usage);
    turn.cost = addCost(turn.cost, cost ?? NO_COST);
    step.pending = null;
  };
  const takeCall = (event: LogEventOf<'tool/call'>): void => {
    const call = openStep(event)?.calls.get(event.call);
    if (!call || !turn) {
      wrong(`nobody asked for the call ${event.call}`);
      return;
    }
    if (call.started) complain('doubled', `event ${seq}: the call ${event.call} starts twice`);
    if (call.settled) wrong('a call starts after its result');
    call.started = true;
    turn.toolCalls++;
    const { tool_calls: most } = limits.turn;
    if (most !== undefined && turn.toolCalls > most)
      wrong(`${turn.toolCalls} calls, and ${most} are allowed`);
    const inAll = spent.tool_calls + turn.toolCalls;
    const ever = limits.session.tool_calls;
    if (ever !== undefined && inAll > ever) wrong(`${inAll} calls of the session, and ${ever} are allowed`);
  };
  const takeResult = (event: LogEventOf<'tool/result'>): void => {
    surface.push(event.seq);
    const call = openStep(event)?.calls.get(event.call);
    if (!call) {
      wrong(`a result of ${event.call}, which is no call of this step`);
      return;
    }
    if (call.settled) complain('doubled', `event ${seq}: a second result of ${event.call}`);
    if (!call.started && event.error !== 'TOOL_NOT_STARTED') wrong(`${event.call} has a result and no start`);
    if (call.started && event.error === 'TOOL_NOT_STARTED') wrong(`${event.call} was started`);
    call.settled = true;
  };
  const endStep = (event: LogEventOf<'step/end'>): void => {
    const step = openStep(event);
    if (!step || !turn) return;
    const open = [...step.calls].filter(([, { settled }]) => !settled).map(([id]) => id);
    if (open.length > 0) wrong(`the step ends, and calls have no result: ${open.join()}`);
    if (step.claimed.size > 0)
      complain('lost', `event ${seq}: claimed and not said: ${[...step.claimed].join()}`);
    if (step.pending) turn.cost = addCost(turn.cost, step.pending);
    turn.isAnswered = step.answered && !step.interrupted && step.calls.size === 0;
    turn.step = null;
    turn.boundarySeq = seq;
  };
  const endTurn = (event: LogEventOf<'turn/end'>): void => {
    const open = openTurn(event);
    if (!open) return;
    if (open.step) wrong('the turn ends in a step');
    if (event.steps !== open.steps) wrong(`${event.steps} steps are told of ${open.steps}`);
    if (JSON.stringify(event.usage) !== JSON.stringify(open.usage))
      wrong('the usage told is not that of the answers');
    const ms = (open.parted ?? event.at) - open.startedAt;
    checkReceipt(event, open, ms, wrong);
    if (event.reason.kind === 'completed' || event.reason.kind === 'max-tokens') {
      if (!open.isAnswered) wrong('the turn is completed, and its last step is not');
      const due = inbox.dueAt(open.boundarySeq);
      if (due.length > 0) wrong(`the turn ends, and its next step would have taken ${due.join()}`);
    }
    ends.set(event.turn, event.reason);
    usage = addUsage(usage, event.usage);
    const { tokens, micro_usd } = addCost(spent, open.cost);
    spent = {
      steps: spent.steps + open.steps,
      tool_calls: spent.tool_calls + open.toolCalls,
      wall_ms: spent.wall_ms + ms,
      tokens,
      micro_usd,
    };
    turn = null;
  };
  const startTurn = (event: LogEventOf<'turn/start'>): void => {
    if (turn) wrong('a turn starts in another one');
    if (event.turn !== turns + 1) wrong(`turn ${event.turn} follows turn ${turns}`);
    turns = event.turn;
    turn = {
      turn: event.turn,
      startedAt: event.at,
      steps: 0,
      requests: 0,
      toolCalls: 0,
      usage: NO_USAGE,
      cost: NO_COST,
      boundarySeq: event.seq,
      isAnswered: false,
      parted: null,
      step: null,
    };
  };
  const runCommand = (event: LogEventOf<'command/run'>): void => {
    if (command !== null) wrong('a command runs in another one');
    command = event.command;
  };
  const endCommand = (event: LogEventOf<'command/done'>): void => {
    if (command !== event.command) wrong(`${event.command} is done and was not run`);
    command = null;
    if (event.command !== 'reset') return;
    if (turn) wrong('a reset in the middle of a turn');
    surface = [];
  };

  const dispatch = (event: LogEvent): void => {
    switch (event.type) {
      case 'session/created':
        if (event.seq !== 1) wrong('a session is created once');
        return;
      case 'inbox/admitted':
        inbox.admit(event.message, event.delivery, event.seq);
        return;
      case 'inbox/discarded':
        inbox.discard(event.message.id);
        return;
      case 'turn/start':
        startTurn(event);
        return;
      case 'step/start':
        startStep(event);
        return;
      case 'user/message':
        takeMessage(event);
        return;
      case 'request/header':
        openStep(event);
        headerSeq = event.seq;
        return;
      case 'request/attempt':
        takeAttempt(event);
        return;
      case 'request/failed':
        takeFailure(event);
        return;
      case 'assistant/message':
        takeAnswer(event);
        return;
      case 'tool/call':
        takeCall(event);
        return;
      case 'tool/result':
        takeResult(event);
        return;
      case 'step/end':
        endStep(event);
        return;
      case 'turn/end':
        endTurn(event);
        return;
      case 'command/run':
        runCommand(event);
        return;
      case 'command/done':
        endCommand(event);
        return;
      default:
        wrong(`an event of the type ${(event as { type: string }).type}`);
        return;
    }
  };
  return {
    take(event: LogEvent): void {
      if (event.seq !== seq + 1) wrong(`seq ${event.seq} follows ${seq}`);
      seq = event.seq;
      if (event.at < at) wrong('time runs backwards');
      at = event.at;
      dispatch(event);
      if (turn && forkedAt.includes(seq)) turn.parted = at;
    },
    summary: (): LogSummary => ({
      fates: inbox.fates,
      waiting: inbox.waiting(),
      turns,
      isTurnOpen: turn !== null,
      headerSeq,
      usage,
      spent,
      ends,
      surface,
    }),
  };
}
