/**
 * Carries out a step's calls. A start is logged before it happens and a result after it, in the model's order;
 * neighbours that declare themselves parallel-safe run together. What a person has to decide is asked before any of
 * the calls runs, so that the decisions can be made at once.
 */
import { sha256Hex } from '../storage/digest.ts';
import {
  checkCall,
  judgeAlone,
  judgeCall,
  runTool,
  type ToolContext,
  type ToolResult,
  toFailed,
} from '../tools/index.ts';
import { type Approval, assertNever, type CallState, type EventBody } from '../transcript/index.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import type { StepContext } from './prompt.ts';
import { withinStepTime } from './step-time.ts';

/** More at once would only queue: the platform opens six connections at a time for an object. */
const MAX_PARALLEL = 10;

/** Returns early when a person has to be asked about one of the calls. */
export async function settleCalls(
  ports: LoopPorts,
  context: StepContext,
  calls: readonly CallState[],
  signal: AbortSignal,
): Promise<void> {
  const asked = await judgeCalls(ports, context, calls, signal);
  if (asked) return;
  const runsBeside = ({ block, approval }: CallState): boolean =>
    context.tools.get(block.name)?.parallelSafe === true && !approval && !context.denied.has(block.id);
  for (const batch of toBatches(calls, runsBeside)) {
    signal.throwIfAborted();
    await runBatch(ports, context, batch, signal);
  }
}

/** Runs of parallel-safe neighbours, at most MAX_PARALLEL long; every other call alone. Order is kept. */
export function toBatches<T>(calls: readonly T[], isParallelSafe: (call: T) => boolean): T[][] {
  const batches: T[][] = [];
  let open: T[] | null = null;
  for (const call of calls) {
    const safe = isParallelSafe(call);
    if (safe && open && open.length < MAX_PARALLEL) {
      open.push(call);
      continue;
    }
    const batch = [call];
    batches.push(batch);
    open = safe ? batch : null;
  }
  return batches;
}

/** Judges what was not judged before; the questions are one commit. Returns whether there is one. */
async function judgeCalls(
  ports: LoopPorts,
  context: StepContext,
  calls: readonly CallState[],
  signal: AbortSignal,
): Promise<boolean> {
  const fresh = calls.filter(
    ({ block, started, approval }) => !started && !approval && !context.judged.has(block.id),
  );
  const questions: EventBody[] = [];
  const guards = ports.guards();
  for (const { block } of fresh) {
    const checked = checkCall(block, context.tools, context.skills);
    if ('error' in checked) continue; // its result says so
    // A time limit costs more than most calls: without guards there is nothing to wait for.
    const verdict =
      guards.length === 0
        ? judgeAlone(checked)
        : await withinStepTime(ports, signal, (limited) =>
            judgeCall(checked, guards, toToolContext(ports, context, block.id, limited)),
          );
    context.judged.add(block.id);
    if (verdict.kind === 'deny') context.denied.set(block.id, toFailed('denied', verdict.reason));
    if (verdict.kind === 'ask') {
      const { turn, step } = context;
      questions.push({
        type: 'approval/requested',
        turn,
        step,
        approval: nameApproval(ports.session.id, context, block.id),
        call: block.id,
        name: block.name,
        kind: verdict.about,
        prompt: verdict.question.text,
        ...(verdict.question.options ? { options: verdict.question.options } : {}),
        expires_at: ports.now() + ports.limits.approvalMs,
      });
    }
  }
  if (questions.length === 0) return false;
  await pass(ports, 'approval.requesting');
  signal.throwIfAborted();
  ports.log.commit((append) => {
    for (const event of questions) append(event);
  });
  await pass(ports, 'approval.requested');
  return true;
}

/** The same again for the same call, and opaque to whoever carries it. */
function nameApproval(session: string, { turn, step }: StepContext, call: string): string {
  return `apr_${sha256Hex(JSON.stringify([session, turn, step, call])).slice(0, 24)}`;
}

function toToolContext(
  ports: LoopPorts,
  context: StepContext,
  call: string,
  signal: AbortSignal,
): ToolContext {
  const { turn, step, skills } = context;
  const { session, workspace, env, invokedSkills, now } = ports;
  return { session, workspace, env, call, turn, step, signal, skills, invokedSkills, now };
}

async function runBatch(
  ports: LoopPorts,
  context: StepContext,
  batch: readonly CallState[],
  signal: AbortSignal,
): Promise<void> {
  const decided = batch.map((call) => decide(context, call));
  const starting = batch.filter((call, i) => !call.started && !decided[i]);
  const { turn, step, tools } = context;
  if (starting.length > 0) {
    await pass(ports, 'tool.starting');
    signal.throwIfAborted();
    ports.log.commit((append) => {
      for (const { block } of starting)
        append({ type: 'tool/call', turn, step, call: block.id, name: block.name, input: block.input });
    });
    await pass(ports, 'tool.started');
  }
  const running = batch.map(
    ({ block }, i) =>
      decided[i] ?? runTool(block, tools, toToolContext(ports, context, block.id, signal), ports.wait),
  );
  for (const [i, result] of running.entries()) {
    const call = batch[i];
    const settled = await result;
    await pass(ports, 'tool.answered');
    if (call) await commitResult(ports, context, call, settled);
  }
}

/** The result of a call that does not run: a guard or a person refused it, or a person answered it. */
function decide(context: StepContext, { block, approval }: CallState): ToolResult | null {
  const denied = context.denied.get(block.id);
  if (denied) return denied;
  return approval?.decision ? toDecision(block.name, approval.decision) : null;
}

function toDecision(
  name: string,
  { outcome, by, text }: NonNullable<Approval['decision']>,
): ToolResult | null {
  switch (outcome) {
    case 'approved':
      return null;
    case 'answered':
      return { content: [{ type: 'text', text: text ?? '' }], facts: { by } };
    case 'denied':
      return {
        ...toFailed('denied', `A person refused ${name}${text ? `: ${text}` : '.'}`),
        facts: { by },
      };
    case 'expired':
    case 'withdrawn':
      return toFailed('expired', `Nobody decided about ${name} in time. It did not run.`);
    default:
      return assertNever(outcome);
  }
}

function commitResult(
  ports: LoopPorts,
  { turn, step }: StepContext,
  call: CallState,
  result: ToolResult,
): Promise<unknown> {
  const { id, name } = call.block;
  const { events = [], ...shown } = result;
  return commitAt(ports, ['tool.settling', 'tool.settled'], (append) => {
    for (const event of events) append({ ...event, turn, step, call: id });
    append({ type: 'tool/result', turn, step, call: id, name, ...shown, surface: 'append' });
  });
}
