/**
 * The way into a step: claim, settle the call, assemble, render, pre-step, and one commit that writes all of it down
 * before the model is asked.
 */
import { runLanes } from '../context/index.ts';
import type { InboxItem } from '../inbox/index.ts';
import { storedToolSchemas } from '../models/index.ts';
import { type BuiltHeader, modelOptions, settleCall } from '../prompt/index.ts';
import type { TurnState, UserMessage } from '../transcript/index.ts';
import { BudgetExhausted } from './budgets.ts';
import { pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import { composePrompt, type StepContext } from './prompt.ts';
import { beginAttempt, checkBudget, reserveRequest } from './reservation.ts';
import { restoreTools } from './restored-tools.ts';
import { withinStepTime } from './step-time.ts';

/** Why a lane took the claim in and let no step have it. */
export interface Block {
  by: string;
  message: string;
}

/** Carries the claim out of a step that did not begin, so that the commit which ends the turn can account for it. */
export class StepNotEntered extends Error {
  readonly claimed: readonly InboxItem[];
  /** Null where the step failed. */
  readonly block: Block | null;
  constructor(claimed: readonly InboxItem[], block: Block | null, cause?: unknown) {
    super('the step was not entered', { cause });
    this.name = 'StepNotEntered';
    this.claimed = claimed;
    this.block = block;
  }
}

/** Throws `StepNotEntered` for a failure, an abort, a budget that is used up, and a lane that rejects the claim. */
export async function enterStep(
  ports: LoopPorts,
  state: TurnState,
  signal: AbortSignal,
): Promise<StepContext> {
  const claimed = state.step === 0 ? ports.inbox.peekForTurn() : ports.inbox.peekForStep();
  let prepared: Prepared | Rejected;
  try {
    checkBudget(ports, { steps: 1 });
    prepared = await withinStepTime(ports, signal, (limited) => prepareStep(ports, state, claimed, limited));
    if (prepared.kind === 'prepared') await commitStep(ports, prepared, claimed, signal);
  } catch (error) {
    // A message that steers a turn without a budget for it is not lost with that turn: it starts the next one.
    const taken = error instanceof BudgetExhausted && state.step > 0 ? [] : claimed;
    throw new StepNotEntered(taken, null, error);
  }
  if (prepared.kind === 'rejected') throw new StepNotEntered(claimed, prepared.block);
  return prepared.context;
}

interface Rejected {
  kind: 'rejected';
  block: Block;
}

interface Prepared {
  kind: 'prepared';
  context: StepContext;
  messages: UserMessage[];
  header: BuiltHeader;
}

async function prepareStep(
  ports: LoopPorts,
  { turn, step: before }: TurnState,
  claimed: readonly InboxItem[],
  signal: AbortSignal,
): Promise<Prepared | Rejected> {
  const { session } = ports;
  const at = { turn, step: before + 1 };
  const plan = ports.plan();
  const skills = await ports.skills.view();
  await pass(ports, 'step.skills');
  const call = await settleCall(plan, ports.baseCall(), { session, signal, attempt: 1, failure: null });
  await pass(ports, 'step.settled');
  const composed = await composePrompt(ports, at, call, skills, signal);
  await pass(ports, 'step.rendered');
  const preStep = await runLanes(
    plan.layer.lanes,
    {
      session,
      call,
      skills,
      signal,
      ...at,
      claimed: claimed.map(({ message }) => message),
      assembly: composed.assembly,
      lastOfKind: ports.surface.lastOfKind,
    },
    ports.newMessageId,
  );
  await pass(ports, 'step.lanes');
  if (preStep.kind === 'reject') {
    return { kind: 'rejected', block: { by: preStep.by, message: preStep.message } };
  }
  const { header, context } = composed;
  return { kind: 'prepared', header, messages: preStep.messages, context };
}

/**
 * The commit of DESIGN section 4, item 5: the claim leaves the inbox as the log takes it in. What was cancelled while
 * the step was being prepared is not entered.
 */
async function commitStep(
  ports: LoopPorts,
  { context, messages, header }: Prepared,
  claimed: readonly InboxItem[],
  signal: AbortSignal,
): Promise<void> {
  const { turn, step } = context;
  await pass(ports, 'step.entering');
  signal.throwIfAborted();
  const reserved = reserveRequest(ports, context, header.header, messages);
  const digest = ports.prompts.digest(header.header, messages);
  ports.log.commit((append) => {
    ports.inbox.remove(claimed);
    append({ type: 'step/start', turn, step, claimed: claimed.map(({ message }) => message.id) });
    for (const message of messages) append({ type: 'user/message', turn, step, message, surface: 'append' });
    beginAttempt(ports, append, { turn, step, attempt: 1, header, digest, reserved });
  });
  await pass(ports, 'step.entered');
}

/** The context of a step that an earlier life of this object entered, from the log. */
export async function restoreStep(
  ports: LoopPorts,
  at: { turn: number; step: number },
  signal: AbortSignal,
): Promise<StepContext> {
  const header = ports.headers.newest();
  const [model, skills, tools] = await withinStepTime(ports, signal, async (limited) => [
    await ports.models(header.provider, header.model),
    await ports.skills.view(),
    await restoreTools(ports, header, limited),
  ]);
  await pass(ports, 'step.restored');
  return {
    ...at,
    model,
    call: { provider: header.provider, model: header.model, options: modelOptions.parse(header.config) },
    system: ports.blobs.getText(header.system.digest),
    schemas: storedToolSchemas.parse(JSON.parse(ports.blobs.getText(header.tools.digest))),
    tools,
    skills,
    judged: new Set(),
    denied: new Map(),
  };
}
