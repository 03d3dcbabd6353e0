/**
 * One turn, from a claimed prompt to a terminal outcome. The log says what comes next (`nextAction`), so a turn that
 * was cut off goes on by the same path. A failure ends the turn, never the loop.
 */
import { toErrorData, toFailure } from '../errors.ts';
import {
  type Append,
  addUsage,
  assertNever,
  type Interruption,
  nextAction,
  repairStep,
  type TurnEndReason,
  type TurnState,
} from '../transcript/index.ts';
import { TurnCancelled } from './driver.ts';
import type { LoopPorts } from './ports.ts';
import { recoverCalls } from './recovery.ts';
import { requestAnswer } from './request.ts';
import { enterStep, restoreStep, type StepContext, StepNotEntered } from './step.ts';
import { settleCalls } from './tool-calls.ts';

/** Model requests in one turn where the agent names no limit of its own. */
const MAX_STEPS = 50;
/** Requests of one step: each restart in the middle of a request asks again, and a poisoned one must end. */
const MAX_ATTEMPTS = 5;

export async function startTurn(ports: LoopPorts, signal: AbortSignal): Promise<void> {
  const turn = ports.state.read().turns + 1;
  ports.log.commit((append) => {
    const openTurnSeq = append({ type: 'turn/start', turn });
    ports.state.write({ turns: turn, openTurnSeq });
  });
  await ports.faults.hit('turn.started');
  await runTurn(ports, signal);
}

/** Takes over a turn that a restart cut off. */
export async function resumeTurn(ports: LoopPorts, signal: AbortSignal): Promise<void> {
  await ports.faults.hit('turn.resumed');
  await runTurn(ports, signal, () => recoverCalls(ports));
}

/** `prepare` is part of the turn: where it fails (the agent is gone from the deployment), the turn ends with that. */
async function runTurn(
  ports: LoopPorts,
  signal: AbortSignal,
  prepare: () => void = () => undefined,
): Promise<void> {
  const began = ports.now();
  let reason: TurnEndReason;
  let notEntered: StepNotEntered | null = null;
  try {
    prepare();
    reason = await runSteps(ports, signal);
  } catch (error) {
    if (error instanceof StepNotEntered) notEntered = error;
    reason = notEntered?.block
      ? { kind: 'blocked', ...notEntered.block }
      : describeFailure(ports, notEntered ? notEntered.cause : error, signal);
  }
  endTurn(ports, reason, notEntered, began);
  await ports.faults.hit('turn.ended');
}

async function runSteps(ports: LoopPorts, signal: AbortSignal): Promise<TurnEndReason> {
  let context: StepContext | null = null;
  for (;;) {
    signal.throwIfAborted();
    const state = openTurnOf(ports);
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
        if (action.attempt > MAX_ATTEMPTS) {
          return {
            kind: 'interrupted',
            message: `The model was asked ${MAX_ATTEMPTS} times and cut off each time.`,
          };
        }
        context ??= await restoreStep(ports, action.step);
        await requestAnswer(ports, context, action.attempt, signal);
        break;
      case 'calls':
        context ??= await restoreStep(ports, action.step);
        await settleCalls(ports, context, action.calls, signal);
        break;
      case 'close-step':
        ports.log.commit((append) => append({ type: 'step/end', turn: state.turn, step: action.step }));
        await ports.faults.hit('step.ended');
        break;
      default:
        assertNever(action);
    }
  }
}

/** Whether the turn ends here rather than take another step. */
function endAtBoundary(ports: LoopPorts, state: TurnState): TurnEndReason | null {
  if (state.step === 0 && ports.inbox.count() === 0) {
    return { kind: 'interrupted', message: 'Its message was discarded before a step took it.' };
  }
  const limit = ports.plan().agent.maxSteps ?? MAX_STEPS;
  const wantsMore = state.step === 0 || state.calls.length > 0 || ports.inbox.hasNextStep();
  if (!wantsMore) return state.finish === 'length' ? { kind: 'max-tokens' } : { kind: 'completed' };
  if (state.step >= limit) return { kind: 'budget', budget: 'steps', limit };
  return null;
}

/** One commit: what the claim held where no step took it in, what the transcript lacks, the turn's end. */
function endTurn(
  ports: LoopPorts,
  reason: TurnEndReason,
  notEntered: StepNotEntered | null,
  began: number,
): void {
  const state = openTurnOf(ports);
  const { turn, step: steps, usage } = state;
  ports.log.commit((append) => {
    if (notEntered) accountFor(ports, append, turn, notEntered);
    for (const event of repairStep(state, interruptionOf(reason))) append(event);
    append({ type: 'turn/end', turn, steps, reason, usage });
    ports.stream.clear();
    ports.state.write({ openTurnSeq: 0, usage: addUsage(ports.state.read().usage, usage) });
  });
  ports.reportTurn({ turn, reason, steps, usage, ms: ports.now() - began });
}

/** The claim of a step that did not begin: what a lane rejected is discarded, anything else was said and stays said. */
function accountFor(
  ports: LoopPorts,
  append: Append,
  turn: number,
  { claimed, block }: StepNotEntered,
): void {
  for (const { message } of ports.inbox.remove(claimed)) {
    if (block) append({ type: 'inbox/discarded', message, cause: `blocked by ${block.by}` });
    else append({ type: 'user/message', turn, message, surface: 'append' });
  }
}

function interruptionOf(reason: TurnEndReason): Interruption {
  switch (reason.kind) {
    case 'aborted':
      return 'aborted';
    case 'interrupted':
      return 'restarted';
    case 'completed':
    case 'max-tokens':
    case 'blocked':
    case 'error':
    case 'budget':
      return 'failed';
    default:
      return assertNever(reason);
  }
}

function describeFailure(ports: LoopPorts, error: unknown, signal: AbortSignal): TurnEndReason {
  const { reason } = signal;
  if (signal.aborted) return { kind: 'aborted', by: reason instanceof TurnCancelled ? reason.by : 'unknown' };
  const data = toErrorData(error);
  if (data.code === 'internal_error') ports.reportFailure(error);
  return { kind: 'error', error: toFailure(data) };
}

function openTurnOf(ports: LoopPorts): TurnState {
  const state = ports.turn();
  if (!state) throw new Error('no turn is open');
  return state;
}
