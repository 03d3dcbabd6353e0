/** A person decides about a call that waits, or answers the model's question. The first decision is the only one. */
import { approvalNotFound, approvalSettled, invalidRequest } from '../errors.ts';
import { type ApprovalView, approvalView, type DecideApproval } from '../rpc.ts';
import type { CallState, EventOf } from '../transcript/index.ts';
import type { SessionParts } from '../wiring.ts';
import { wakeIfNeeded } from './drive.ts';
import { type Host, requireLive, requireReadable } from './host.ts';

/** What waits for a person, in the model's order. */
export function listApprovals(host: Host): ApprovalView[] {
  const parts = requireReadable(host);
  const state = parts.turn();
  if (!state) return [];
  const asked = parts.log
    .readStep(state.turn, state.step)
    .filter((event) => event.type === 'approval/requested');
  return state.calls.flatMap((call) => {
    const event = asked.find(({ approval }) => approval === call.approval?.id);
    return event && !call.settled ? [describeApproval(event, call)] : [];
  });
}

/**
 * One commit: the decision, the alarm, the receipt; then the turn goes on. Throws `approval_not_found`,
 * `approval_settled` with who decided what, and `invalid_request` for an answer to what is no question.
 */
export async function decideApproval(host: Host, input: DecideApproval): Promise<ApprovalView> {
  const { parts } = requireLive(host);
  const first = parts.receipts.find(input.idempotency, approvalView);
  if (first) return first;
  const waiting = listApprovals(host).find(({ approval }) => approval === input.approval);
  if (!waiting) throw describeMissing(parts, input.approval);
  if (waiting.decision) throw settled(waiting.decision);
  checkKind(waiting.kind, input.outcome);
  const { outcome, by, text } = input;
  const decision = { outcome, by, ...(text === null ? {} : { text }) };
  const view = parts.log.commit((append) => {
    append({ type: 'approval/resolved', turn: waiting.turn, approval: input.approval, ...decision });
    host.watchdog.arm();
    const answer: ApprovalView = { ...waiting, decision };
    parts.receipts.keep(input.idempotency, answer);
    return answer;
  });
  await host.faults.hit('decision.committed');
  wakeIfNeeded(host);
  return view;
}

function describeApproval(event: EventOf<'approval/requested'>, call: CallState): ApprovalView {
  const { turn, step, approval, name, kind, prompt, options, expires_at } = event;
  return {
    approval,
    kind,
    turn,
    step,
    call: event.call,
    name,
    input: call.block.input,
    prompt,
    options: options ?? null,
    expires_at,
    decision: call.approval?.decision ?? null,
  };
}

function checkKind(kind: ApprovalView['kind'], outcome: DecideApproval['outcome']): void {
  if (kind === 'approval' && outcome === 'answered') {
    throw invalidRequest('This is no question: approve or deny it.');
  }
  if (kind === 'question' && outcome === 'approved') {
    throw invalidRequest('This is a question: answer it, or deny an answer.');
  }
}

/** Of an id that was asked for once, and is not open any more; or of none. */
function describeMissing({ log }: SessionParts, approval: string) {
  const { asked, decision } = log.fateOfApproval(approval);
  if (decision) return settled(decision);
  return asked
    ? approvalSettled('The turn that asked has ended.', { approval })
    : approvalNotFound('Nothing of this id waits here.', { approval });
}

function settled({ outcome, by }: { outcome: string; by: string }) {
  return approvalSettled(`It was ${outcome} by ${by} before.`, { outcome, by });
}
