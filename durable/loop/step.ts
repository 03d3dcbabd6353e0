/**
 * The way into a step: claim, settle the call, assemble, render, pre-step, and one commit that writes all of it down
 * before the model is asked.
 */
import { runLanes } from '../context/index.ts';
import type { InboxItem } from '../inbox/index.ts';
import { type ResolvedModel, storedToolSchemas, type ToolSchema } from '../models/index.ts';
import type { BuiltHeader } from '../prompt/index.ts';
import { assemble, type ModelOptions, modelOptions, render, settleCall } from '../prompt/index.ts';
import type { SkillView } from '../skills/types.ts';
import type { ToolDefinition } from '../tools/index.ts';
import type { TurnState, UserMessage } from '../transcript/index.ts';
import type { LoopPorts } from './ports.ts';

/** What a step's request and calls need: all of it is in the log, so a restart can restore it. */
export interface StepContext {
  turn: number;
  step: number;
  model: ResolvedModel;
  system: string;
  schemas: readonly ToolSchema[];
  options: ModelOptions;
  tools: ReadonlyMap<string, ToolDefinition>;
  skills: SkillView;
}

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

/** Throws `StepNotEntered` for a failure, an abort, and a lane that rejects the claim. */
export async function enterStep(
  ports: LoopPorts,
  state: TurnState,
  signal: AbortSignal,
): Promise<StepContext> {
  const claimed = state.step === 0 ? ports.inbox.peekForTurn() : ports.inbox.peekForStep();
  let prepared: Prepared | Rejected;
  try {
    prepared = await prepareStep(ports, state, claimed, signal);
    signal.throwIfAborted();
    if (prepared.kind === 'prepared') commitStep(ports, prepared, claimed);
  } catch (error) {
    throw new StepNotEntered(claimed, null, error);
  }
  if (prepared.kind === 'rejected') throw new StepNotEntered(claimed, prepared.block);
  await ports.faults.hit('step.entered');
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
  const step = before + 1;
  const plan = ports.plan();
  const skills = await ports.skills.view();
  await ports.faults.hit('step.skills');
  const call = await settleCall(plan, ports.baseCall(), { session, signal });
  const model = await ports.models(call.provider, call.model);
  const assembleContext = { session, call, skills, signal };
  const prompt = await assemble(plan, assembleContext);
  const rendered = render(prompt.assembly);
  await ports.faults.hit('step.rendered');
  const preStep = await runLanes(
    plan.layer.lanes,
    {
      ...assembleContext,
      turn,
      step,
      claimed: claimed.map(({ message }) => message),
      assembly: prompt.assembly,
      lastOfKind: ports.surface.lastOfKind,
    },
    ports.newMessageId,
  );
  await ports.faults.hit('step.lanes');
  if (preStep.kind === 'reject') {
    return { kind: 'rejected', block: { by: preStep.by, message: preStep.message } };
  }
  const header = ports.headers.build({ agent: plan.agent.name, call, prompt, rendered, skills });
  return {
    kind: 'prepared',
    header,
    messages: preStep.messages,
    context: {
      turn,
      step,
      model,
      system: header.system,
      schemas: header.tools,
      options: call.options,
      tools: new Map(prompt.assembly.tools.map(({ tool }) => [tool.name, tool])),
      skills,
    },
  };
}

/** The commit of DESIGN section 4, item 5: the claim leaves the inbox as the log takes it in. */
function commitStep(
  ports: LoopPorts,
  { context, messages, header }: Prepared,
  claimed: readonly InboxItem[],
): void {
  const { turn, step } = context;
  const digest = ports.prompts.digest(header.header, messages);
  ports.log.commit((append) => {
    ports.inbox.remove(claimed);
    append({ type: 'step/start', turn, step, claimed: claimed.map(({ message }) => message.id) });
    for (const message of messages) append({ type: 'user/message', turn, step, message, surface: 'append' });
    if (!ports.headers.isLogged(header)) {
      ports.blobs.put(header.system);
      ports.blobs.put(header.toolsJson);
      const headerSeq = append({ type: 'request/header', turn, step, header: header.header });
      ports.state.write({ headerSeq });
      ports.headers.markLogged(header);
    }
    append({ type: 'request/attempt', turn, step, attempt: 1, digest });
    ports.stream.begin(turn, step, 1);
  });
}

/** The context of a step that an earlier life of this object entered, from the log. */
export async function restoreStep(ports: LoopPorts, step: number): Promise<StepContext> {
  const header = ports.headers.newest();
  const turn = ports.turn()?.turn ?? 0;
  const plan = ports.plan();
  const names = new Set(header.tools.names.map(({ name }) => name));
  return {
    turn,
    step,
    model: await ports.models(header.provider, header.model),
    system: ports.blobs.getText(header.system.digest),
    schemas: storedToolSchemas.parse(JSON.parse(ports.blobs.getText(header.tools.digest))),
    options: modelOptions.parse(header.config),
    tools: new Map(
      plan.tools
        .filter(({ definition }) => names.has(definition.name))
        .map(({ definition }) => [definition.name, definition]),
    ),
    skills: await ports.skills.view(),
  };
}
