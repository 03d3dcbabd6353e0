/**
 * One turn, from a claimed prompt to a terminal outcome. The log says what comes next (`nextAction`), so a turn that
 * was cut off goes on by the same path. A failure ends the turn, never the loop.
 */
import { toErrorData, toFailure } from '../errors.ts';
import { startTimeLimit } from '../time-limit.ts';
import {
  assertNever,
  type CallState,
  isWaiting,
  nextAction,
  type TurnEndReason,
  type TurnState,
} from '../transcript/index.ts';
import { BudgetExhausted, countFreeCalls, findDeadline, findExhausted, spendOfTurn } from './budgets.ts';
import { TurnCancelled } from './driver.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import type { StepContext } from './prompt.ts';
import { goOn, type Left, TurnInterrupted } from './recovery.ts';
import { countAttempt, RequestFailed, requestAnswer } from './request.ts';
import { checkBudget, openTurnOf } from './reservation.ts';
import { enterStep, restoreStep, StepNotEntered } from './step.ts';
import { settleCalls } from './tool-calls.ts';
import { endTurn, type TurnOutcome } from './turn-end.ts';

/** Requests of one step that restarts cut off or that failed: a poisoned one must end. */
const MOST_ATTEMPTS = 10;

export async function startTurn(ports: LoopPorts, signal: AbortSignal): Promise<void> {
  const turn = ports.state.read().turns + 1;
  await commitAt(ports, ['turn.starting', 'turn.started'], (append) => {
    const openTurnSeq = append({ type: 'turn/start', turn });
    ports.state.write({ turns: turn, openTurnSeq });
  });
  await runTurn(ports, signal, async () => undefined);
}

/** Goes on with the open turn, however it was left. */
export async function resumeTurn(ports: LoopPorts, signal: AbortSignal, left: Left): Promise<void> {
  await pass(ports, 'turn.resumed');
  await runTurn(ports, signal, () => goOn(ports, left, signal));
}

/** Whether the open turn has nothing to do until a person decides, or until that takes too long. */
export function isParked(ports: Pick<LoopPorts, 'turn' | 'state' | 'now'>): boolean {
  const state = ports.turn();
  const action = state && nextAction(state);
  if (action?.kind !== 'wait' || ports.state.read().cancel?.turn === state?.turn) return false;
  return action.until === null || ports.now() < action.until;
}

/** `prepare` is part of the turn: where it fails (the agent is gone from the deployment), the turn ends with that. */
async function runTurn(ports: LoopPorts, signal: AbortSignal, prepare: () => Promise<void>): Promise<void> {
  let outcome: TurnOutcome;
  try {
    await prepare();
    const reason = await runInTime(ports, signal, (limited) => runSteps(ports, limited));
    // It waits for a person, and stays open.
    if (!reason) return;
    outcome = { reason, notEntered: null, failed: null };
  } catch (error) {
    outcome = toOutcome(ports, error, signal);
  }
  await endTurn(ports, outcome);
}

/** Under the wall time that the turn and the session have left; where it is up, `work` is aborted with that. */
async function runInTime<T>(
  ports: LoopPorts,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const spent = spendOfTurn(openTurnOf(ports), ports.now());
  const deadline = findDeadline(ports.budgets(), spent, ports.state.read().spent);
  if (!deadline) return work(signal);
  const limit = startTimeLimit(deadline.ms, ports.wait, () => new BudgetExhausted(deadline.reason));
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    limit.end();
  }
}

/** Returns the turn's end, or null where it waits for a person. */
async function runSteps(ports: LoopPorts, signal: AbortSignal): Promise<TurnEndReason | null> {
  let context: StepContext | null = null;
  for (;;) {
    signal.throwIfAborted();
    const state = openTurnOf(ports);
    const { turn, step } = state;
    const action = nextAction(state);
    switch (action.kind) {
      case 'boundary': {
        const end = endAtBoundary(ports, state);
        if (end) return end;
        context = await enterStep(ports, state, signal);
        await requestAnswer(ports, context, 1, signal);
        break;
      }
      case 'request':
        if (action.attempt > MOST_ATTEMPTS) {
          const message = `The model was asked ${MOST_ATTEMPTS} times and cut off each time.`;
          return { kind: 'interrupted', message };
        }
        context ??= await restoreStep(ports, { turn, step }, signal);
        context = await countAttempt(ports, context, action, signal);
        await requestAnswer(ports, context, action.attempt, signal);
        break;
      case 'calls':
        context ??= await restoreStep(ports, { turn, step }, signal);
        await settleAffordable(ports, context, action.calls, signal);
        break;
      case 'wait':
        if (isParked(ports)) return null;
        await expireApprovals(ports, state);
        break;
      case 'close-step':
        await commitAt(ports, ['step.ending', 'step.ended'], (append) =>
          append({ type: 'step/end', turn, step }),
        );
        break;
      default:
        assertNever(action);
    }
  }
}

/** Nobody decided in time: that is the decision. */
async function expireApprovals(ports: LoopPorts, { turn, calls }: TurnState): Promise<void> {
  const due = calls.flatMap((call) => (isWaiting(call) && call.approval ? [call.approval] : []));
  await commitAt(ports, ['approval.expiring', 'approval.expired'], (append) => {
    for (const { id, expiresAt } of due) {
      if (expiresAt === null || expiresAt > ports.now()) continue;
      append({ type: 'approval/resolved', turn, approval: id, outcome: 'expired', by: 'time' });
    }
  });
}

/** Runs the calls that the budget of calls has room for, in their order; where some are left, it is used up. */
async function settleAffordable(
  ports: LoopPorts,
  context: StepContext,
  calls: readonly CallState[],
  signal: AbortSignal,
): Promise<void> {
  const spent = spendOfTurn(openTurnOf(ports), ports.now());
  const limits = ports.budgets();
  const { spent: ended } = ports.state.read();
  let free = countFreeCalls(limits, spent, ended);
  const room = calls.findIndex((call) => !call.started && free-- <= 0);
  const affordable = room < 0 ? calls : calls.slice(0, room);
  await settleCalls(ports, context, affordable, signal);
  if (affordable.length === calls.length) return;
  const now = spendOfTurn(openTurnOf(ports), ports.now());
  const reason = findExhausted(limits, now, ended, { tool_calls: 1 });
  if (reason) throw new BudgetExhausted(reason);
}

/** Whether the turn ends here rather than take another step. */
function endAtBoundary(ports: LoopPorts, state: TurnState): TurnEndReason | null {
  if (state.step === 0) {
    if (ports.inbox.count() > 0) return null;
    return { kind: 'interrupted', message: 'Its message was discarded before a step took it.' };
  }
  if (state.calls.length > 0 || ports.inbox.hasNextStep()) return null;
  if (state.finish === 'aborted') {
    // A restart came between the answer that was stopped and the turn's end. A cancel is kept; so it was the time.
    checkBudget(ports, {});
    return { kind: 'interrupted', message: 'Its last answer was stopped, and the service restarted.' };
  }
  return state.finish === 'length' ? { kind: 'max-tokens' } : { kind: 'completed' };
}

function toOutcome(ports: LoopPorts, thrown: unknown, signal: AbortSignal): TurnOutcome {
  const notEntered = thrown instanceof StepNotEntered ? thrown : null;
  if (notEntered?.block) {
    return { reason: { kind: 'blocked', ...notEntered.block }, notEntered, failed: null };
  }
  const error = notEntered ? notEntered.cause : thrown;
  const failed = error instanceof RequestFailed ? error : null;
  const reason = toReason(ports, failed ? failed.cause : error, signal);
  return { reason, notEntered, failed: reason.kind === 'error' ? failed : null };
}

function toReason(ports: LoopPorts, error: unknown, signal: AbortSignal): TurnEndReason {
  const cancelled = [signal.reason, error].find((cause) => cause instanceof TurnCancelled);
  if (cancelled) return { kind: 'aborted', by: cancelled.by };
  if (error instanceof BudgetExhausted) return error.reason;
  if (error instanceof TurnInterrupted) return { kind: 'interrupted', message: error.message };
  const data = toErrorData(error);
  if (data.code === 'internal_error') ports.reportFailure(error);
  return { kind: 'error', error: toFailure(data) };
}
