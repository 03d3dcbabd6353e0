/** One request of a step: asks the model, shows the text as it comes, and commits the answer or the failure. */
import { toErrorData, toFailure } from '../errors.ts';
import { askModel, type ModelAnswer } from '../models/index.ts';
import { type BuiltHeader, settleCall } from '../prompt/index.ts';
import { pause } from '../time-limit.ts';
import type { Charge, NextAction } from '../transcript/index.ts';
import { settle } from './budgets.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import { composePrompt, type StepContext } from './prompt.ts';
import { beginAttempt, openTurnOf, reserveRequest } from './reservation.ts';
import { planRetry } from './retries.ts';
import { withinStepTime } from './step-time.ts';

/** Carries a failure that is not asked again to the turn's end, whose commit has it. */
export class RequestFailed extends Error {
  readonly attempt: number;
  readonly began: boolean;
  constructor(attempt: number, began: boolean, cause: unknown) {
    super('the model gave no answer', { cause });
    this.name = 'RequestFailed';
    this.attempt = attempt;
    this.began = began;
  }
}

/**
 * Counts a further request of a step: after a failure, when its time has come and with the call settled anew (a
 * listener may fall back to another model, and the prompt is assembled for that one); after a restart as it was.
 */
export async function countAttempt(
  ports: LoopPorts,
  before: StepContext,
  { attempt }: Extract<NextAction, { kind: 'request' }>,
  signal: AbortSignal,
): Promise<StepContext> {
  const { failed } = openTurnOf(ports);
  let context = before;
  let header: BuiltHeader | null = null;
  if (failed) {
    const left = failed.retryAt - ports.now();
    if (left > 0) await pause(left, signal, ports.wait);
    await pass(ports, 'request.waited');
    ({ context, header } = await withinStepTime(ports, signal, (limited) =>
      settleAgain(ports, before, attempt, limited),
    ));
  }
  const { turn, step } = context;
  await pass(ports, 'request.counting');
  signal.throwIfAborted();
  const headed = header?.header ?? ports.headers.newest();
  const reserved = reserveRequest(ports, context, headed, []);
  const digest = ports.prompts.digest(headed, []);
  ports.log.commit((append) =>
    beginAttempt(ports, append, { turn, step, attempt, header, digest, reserved }),
  );
  await pass(ports, 'request.counted');
  return context;
}

async function settleAgain(
  ports: LoopPorts,
  before: StepContext,
  attempt: number,
  signal: AbortSignal,
): Promise<{ context: StepContext; header: BuiltHeader | null }> {
  const { session } = ports;
  const failure = openTurnOf(ports).failed?.error ?? null;
  const call = await settleCall(ports.plan(), ports.baseCall(), { session, signal, attempt, failure });
  if (JSON.stringify(call) === JSON.stringify(before.call)) return { context: before, header: null };
  const { turn, step, skills } = before;
  return composePrompt(ports, { turn, step }, call, skills, signal);
}

/**
 * Returns when the answer is in the log, or the failure of a request that is to be made again. Throws
 * `RequestFailed`, with nothing of the answer committed, and the turn's abort, with what people saw committed as an
 * `interrupted` message. The attempt has been counted.
 */
export async function requestAnswer(
  ports: LoopPorts,
  context: StepContext,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const { turn, step, model, system, schemas, call } = context;
  const place = { turn, step, attempt };
  let began = false;
  const asked = askModel(
    model,
    ports.prompts.toCall(model, { system, tools: schemas, options: call.options, place }),
    {
      signal,
      stallMs: ports.limits.modelStallMs,
      wait: ports.wait,
      now: ports.now,
      onBegin: () => {
        began = true;
      },
      onDelta: ({ kind, text }) => ports.publish(ports.stream.push(kind, text)),
    },
  );
  const outcome = await asked.catch((error: unknown) => ({ kind: 'failed' as const, error }));
  await pass(ports, 'request.answered');
  switch (outcome.kind) {
    case 'answer':
      return commitAnswer(ports, context, attempt, outcome.answer, false);
    case 'failed':
      signal.throwIfAborted();
      return commitFailure(ports, context, attempt, { error: outcome.error, began });
    default:
      if (outcome.partial.content.length > 0)
        await commitAnswer(ports, context, attempt, outcome.partial, true);
      signal.throwIfAborted();
  }
}

async function commitAnswer(
  ports: LoopPorts,
  { turn, step, call }: StepContext,
  attempt: number,
  answer: ModelAnswer,
  interrupted: boolean,
): Promise<void> {
  const { usage } = answer;
  // What was stopped half-way often told nothing of its usage: what was set aside for it stays spent.
  const told = !interrupted || usage.input + usage.output > 0;
  const pending: Charge | null = openTurnOf(ports).pending;
  const charge = told || !pending ? settle(usage, ports.priceOf(call.provider, call.model)) : pending;
  await commitAt(ports, ['answer.committing', 'answer.committed'], (append) => {
    append({
      type: 'assistant/message',
      turn,
      step,
      attempt,
      ...answer,
      charge,
      ...(interrupted ? { interrupted } : {}),
      surface: 'append',
    });
    ports.stream.clear();
  });
}

async function commitFailure(
  ports: LoopPorts,
  { turn, step }: StepContext,
  attempt: number,
  { error, began }: { error: unknown; began: boolean },
): Promise<void> {
  const failure = toFailure(toErrorData(error));
  const lost = openTurnOf(ports).lost + 1;
  const delay = planRetry(ports.limits.retry, failure, { attempt, lost }, ports.random());
  if (delay === null) throw new RequestFailed(attempt, began, error);
  await commitAt(ports, ['request.failing', 'request.failed'], (append) => {
    append({
      type: 'request/failed',
      turn,
      step,
      attempt,
      error: failure,
      began,
      retry_at: ports.now() + delay,
    });
    ports.stream.clear();
  });
}
