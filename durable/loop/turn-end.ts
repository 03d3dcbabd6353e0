/** The commit that ends a turn: its claim, its transcript and its spending, accounted for at once. */
import { toErrorData, toFailure } from '../errors.ts';
import type { InboxItem } from '../inbox/index.ts';
import {
  type Append,
  addUsage,
  assertNever,
  type CallState,
  type Interruption,
  isWaiting,
  NO_USAGE,
  repairStep,
  type TurnEndReason,
  type TurnReceipt,
  type TurnState,
} from '../transcript/index.ts';
import { addSpend, spendOfTurn } from './budgets.ts';
import { pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import type { RequestFailed } from './request.ts';
import { openTurnOf } from './reservation.ts';
import type { StepNotEntered } from './step.ts';

export interface TurnOutcome {
  reason: TurnEndReason;
  notEntered: StepNotEntered | null;
  /** The request whose failure ended the turn. */
  failed: RequestFailed | null;
}

/** What the claim held where no step took it in, what the transcript lacks, the turn's end and its totals: one commit. */
export async function endTurn(ports: LoopPorts, outcome: TurnOutcome): Promise<void> {
  await pass(ports, 'turn.ending');
  const { notEntered, failed } = outcome;
  const before = openTurnOf(ports);
  const { turn, step: steps, usage } = before;
  // A cancel that was acknowledged up to here is heeded, whatever the turn was about to end with.
  const { cancel } = ports.state.read();
  const reason: TurnEndReason = cancel?.turn === turn ? { kind: 'aborted', by: cancel.by } : outcome.reason;
  const receipt = ports.log.commit((append) => {
    const claimed = notEntered?.claimed ?? findCancelled(ports, before);
    accountFor(ports, append, turn, { claimed, block: notEntered?.block ?? null });
    if (failed) appendFailure(append, before, failed);
    else if (reason.kind === 'aborted' || reason.kind === 'budget') keepShown(ports, append, before);
    for (const call of before.calls.filter(isWaiting)) withdraw(append, turn, call);
    for (const event of repairStep(before, interruptionOf(reason))) append(event);
    const spent = spendOfTurn(settleFailure(before, failed), ports.now());
    const written = describeTurn(ports, before, failed, spent);
    append({ type: 'turn/end', turn, steps, reason, usage, receipt: written });
    ports.stream.clear();
    const state = ports.state.read();
    ports.state.write({
      openTurnSeq: 0,
      usage: addUsage(state.usage, usage),
      spent: addSpend(state.spent, spent),
      resumed: null,
      cancel: null,
    });
    return written;
  });
  ports.reportTurn({ turn, reason, steps, usage, receipt });
  await pass(ports, 'turn.ended');
}

function appendFailure(append: Append, { turn, step }: TurnState, failed: RequestFailed): void {
  const error = toFailure(toErrorData(failed.cause));
  const { attempt, began } = failed;
  append({ type: 'request/failed', turn, step, attempt, error, began, retry_at: null });
}

/**
 * What people saw of an answer whose stream a restart cut off, where the turn ends instead of asking again. Its
 * reasoning is left out: a provider takes it back only with a signature that never came.
 */
function keepShown(ports: LoopPorts, append: Append, state: TurnState): void {
  const { turn, step, attempts: attempt, stepOpen, answered, pending } = state;
  if (!stepOpen || answered) return;
  const text = ports.stream
    .soFar()
    .map((shown) => (shown.frame === 'delta' && shown.kind === 'text' ? shown.text : ''))
    .join('');
  if (text === '') return;
  append({
    type: 'assistant/message',
    turn,
    step,
    attempt,
    content: [{ type: 'text', text }],
    finish: 'aborted',
    usage: NO_USAGE,
    model: ports.headers.newest().model,
    ...(pending ? { charge: pending } : {}),
    interrupted: true,
    surface: 'append',
  });
}

/** The turn ends while a person is asked: whoever shows the question can take it away. */
function withdraw(append: Append, turn: number, { approval }: CallState): void {
  if (!approval) return;
  append({ type: 'approval/resolved', turn, approval: approval.id, outcome: 'withdrawn', by: 'turn' });
}

/** A failure before the first piece of an answer is billed by nobody: what was set aside for it is free again. */
function settleFailure(state: TurnState, failed: RequestFailed | null): TurnState {
  return failed && !failed.began ? { ...state, pending: null } : state;
}

function describeTurn(
  ports: LoopPorts,
  state: TurnState,
  failed: RequestFailed | null,
  spent: ReturnType<typeof spendOfTurn>,
): TurnReceipt {
  const { clock, turn } = state;
  const now = ports.now();
  const resumed = ports.state.read().resumed;
  const ms = spent.wall_ms;
  const open =
    clock.modelSince !== null && (failed !== null || state.pending !== null) ? now - clock.modelSince : 0;
  const modelMs = Math.min(ms, clock.modelMs + open);
  const toolsMs = Math.min(ms - modelMs, clock.toolsMs);
  return {
    attempts: state.requests,
    tool_calls: spent.tool_calls,
    restarts: resumed?.turn === turn ? resumed.total : 0,
    rows_written: ports.rowsOfTurn(),
    ms,
    model_ms: modelMs,
    tools_ms: toolsMs,
    harness_ms: ms - modelMs - toolsMs,
    charge: { tokens: spent.tokens, micro_usd: spent.micro_usd },
  };
}

/** What a turn was about to take when it was cancelled, before it claimed anything. */
function findCancelled(ports: LoopPorts, { turn, step }: TurnState): InboxItem[] {
  const { cancel } = ports.state.read();
  if (cancel?.turn !== turn || step > 0) return [];
  return ports.inbox.all().filter(({ message }) => cancel.claimed.includes(message.id));
}

/** The claim of a step that did not begin: what a lane rejected is discarded, anything else was said and stays said. */
function accountFor(
  ports: LoopPorts,
  append: Append,
  turn: number,
  { claimed, block }: Pick<StepNotEntered, 'claimed' | 'block'>,
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
    case 'budget':
      return 'budget';
    case 'completed':
    case 'max-tokens':
    case 'blocked':
    case 'error':
      return 'failed';
    default:
      return assertNever(reason);
  }
}
