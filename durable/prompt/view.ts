/** What a prompt looks like from outside, for a step that was or for the next one, without asking a model. */
import type { Deployment } from '../composition.ts';
import { runLanes } from '../context/index.ts';
import { stepNotFound } from '../errors.ts';
import { parseRoute } from '../models/index.ts';
import type { AgentDefinition } from '../plugins.ts';
import type { SkillView } from '../skills/types.ts';
import type { Blobs } from '../storage/index.ts';
import { startTimeLimit } from '../time-limit.ts';
import type { ToolContext } from '../tools/types.ts';
import type { Log, MessageId, Surface, UserMessage } from '../transcript/index.ts';
import { assemble, type PromptPlan, planPrompt, settleCall } from './assemble.ts';
import { createHeaderBuilder } from './header.ts';
import { render } from './render.ts';
import type { ModelCall, SessionFacts } from './types.ts';
import { type AtStep, type LoggedHeader, type PromptView, showPrompt } from './view-shape.ts';

/** Where a session that names no directory works. */
export const DEFAULT_CWD = '/workspace';
/** A view runs what plugins provide; one that hangs holds nobody longer than this. */
const VIEW_TIMEOUT_MS = 10_000;

interface ViewRequest {
  session: SessionFacts;
  plan: PromptPlan;
  call: ModelCall;
  skills: SkillView;
  /** Of the deployment: which tools there are may depend on it. */
  env?: ToolContext['env'] | undefined;
  /** The messages that the step would claim. */
  claimed: readonly UserMessage[];
  lastOfKind: Surface['lastOfKind'];
  before: LoggedHeader | null;
}

/** Assembles the next prompt. Throws what a turn would fail with. */
async function viewNext(request: ViewRequest, signal: AbortSignal): Promise<PromptView> {
  const { session, plan, skills, claimed, lastOfKind } = request;
  const call = await settleCall(plan, request.call, { session, signal, attempt: 1, failure: null });
  const context = { session, call, skills, signal };
  const prompt = await assemble(plan, context, request.env);
  const rendered = render(prompt.assembly);
  const preStep = await runLanes(
    plan.layer.lanes,
    { ...context, turn: 0, step: 0, claimed, assembly: prompt.assembly, lastOfKind },
    // Ids are for messages that are logged; these are only shown.
    () => 'preview' as MessageId,
  );
  const built = createHeaderBuilder().build({ agent: plan.agent.name, call, prompt, rendered, skills });
  const messages = preStep.kind === 'enter' ? preStep.messages : [];
  return showPrompt(null, built.header, built, messages, request.before);
}

/** What a session tells of itself for its prompt. */
export interface PromptSources {
  facts: SessionFacts;
  plan: () => PromptPlan;
  call: ModelCall;
  skills: SkillView;
  env?: ToolContext['env'] | undefined;
  claimed: readonly UserMessage[];
  surface: Pick<Surface, 'lastOfKind'>;
  log: Pick<Log, 'readStep' | 'newestBefore' | 'lastSeq'>;
  blobs: Pick<Blobs, 'getText'>;
}

/**
 * `GET …/prompt`: of the step at `at`, from the log alone, or of the next step for null. It tells what changed since
 * `since`, or since the header before it where that is null. Throws `step_not_found`.
 */
export async function describePrompt(
  sources: PromptSources,
  at: AtStep | null,
  since: AtStep | null,
): Promise<PromptView> {
  const { facts, plan, call, skills, env, claimed, surface, log, blobs } = sources;
  const against = since && readHeaderOf(log, since);
  if (!at) {
    const before = against ?? findHeader(log, log.lastSeq());
    const request = { session: facts, plan: plan(), call, skills, env, claimed, before };
    return withinTimeLimit((signal) => viewNext({ ...request, lastOfKind: surface.lastOfKind }, signal));
  }
  const { header } = readHeaderOf(log, at);
  const events = log.readStep(at.turn, at.step);
  const before = against ?? findHeader(log, (events[0]?.seq ?? 0) - 1);
  const messages = events.flatMap((event) => (event.type === 'user/message' ? [event.message] : []));
  const texts = {
    system: blobs.getText(header.system.digest),
    toolsJson: blobs.getText(header.tools.digest),
  };
  return showPrompt(at, header, texts, messages, before);
}

/** The header that a step's request had. */
function readHeaderOf(log: PromptSources['log'], at: AtStep): LoggedHeader {
  const last = log.readStep(at.turn, at.step).at(-1);
  const logged = last && findHeader(log, last.seq);
  if (!logged) throw stepNotFound(`There is no step ${at.step} of turn ${at.turn}.`);
  return { at, header: logged.header };
}

function findHeader(log: PromptSources['log'], seq: number): LoggedHeader | null {
  const event = log.newestBefore('request/header', seq);
  if (event?.type !== 'request/header') return null;
  return { at: { turn: event.turn, step: event.step }, header: event.header };
}

/** Renders a session's own persona before the session exists. Throws what its first turn would fail with. */
export async function checkPersona(
  deployment: Deployment,
  agent: AgentDefinition,
  input: SessionFacts & { persona: string | null; model: string | null },
  skills: SkillView,
): Promise<void> {
  const { id, cwd, metadata, persona, model } = input;
  const session = { id, agent: agent.name, cwd, metadata };
  await viewUnlogged(deployment, agent, session, { persona, model, skills, claimed: [] });
}

export interface PreviewRequest {
  agent: string | null;
  model: string | null;
  cwd: string | null;
  persona: string | null;
  /** A draft that a person would send. */
  text: string | null;
  skills: SkillView;
  env?: ToolContext['env'];
}

/** `POST /v1/prompt/preview`: the first prompt of a session that there is not. */
export async function previewPrompt(deployment: Deployment, request: PreviewRequest): Promise<PromptView> {
  const agent = deployment.agent(request.agent);
  const session = { id: 'preview', agent: agent.name, cwd: request.cwd ?? DEFAULT_CWD, metadata: {} };
  const claimed = request.text === null ? [] : [toDraft(request.text)];
  return viewUnlogged(deployment, agent, session, { ...request, claimed });
}

function toDraft(text: string): UserMessage {
  const source = { kind: 'user' as const };
  return { id: 'preview' as MessageId, role: 'user', source, content: [{ type: 'text', text }] };
}

function viewUnlogged(
  deployment: Deployment,
  agent: AgentDefinition,
  session: SessionFacts,
  request: Pick<PreviewRequest, 'persona' | 'model' | 'skills' | 'env'> & { claimed: readonly UserMessage[] },
): Promise<PromptView> {
  const { persona, model, skills, env, claimed } = request;
  const view: ViewRequest = {
    session,
    plan: planPrompt(deployment, agent, persona),
    call: { ...parseRoute(model ?? agent.model), options: agent.options ?? {} },
    skills,
    env,
    claimed,
    lastOfKind: () => undefined,
    before: null,
  };
  return withinTimeLimit((signal) => viewNext(view, signal));
}

async function withinTimeLimit<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = startTimeLimit(VIEW_TIMEOUT_MS);
  try {
    return await work(limit.signal);
  } finally {
    limit.end();
  }
}
