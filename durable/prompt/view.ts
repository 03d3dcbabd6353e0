/** What a prompt looks like from outside: its text and its provenance, for a step that was or for the next one. */
import { z } from 'zod';
import type { Deployment } from '../composition.ts';
import { runLanes } from '../context/index.ts';
import { stepNotFound } from '../errors.ts';
import { parseRoute } from '../models/index.ts';
import type { AgentDefinition } from '../plugins.ts';
import type { SkillView } from '../skills/types.ts';
import type { Blobs } from '../storage/index.ts';
import { startTimeLimit } from '../time-limit.ts';
import {
  type ContentBlock,
  type Log,
  type MessageId,
  type MessageSource,
  type RequestHeader,
  requestHeader,
  type Surface,
  type UserMessage,
} from '../transcript/index.ts';
import { assemble, type PromptPlan, planPrompt, settleCall } from './assemble.ts';
import { type BuiltHeader, createHeaderBuilder } from './header.ts';
import { render } from './render.ts';
import { estimateTokens } from './tokens.ts';
import type { ModelCall, SessionFacts } from './types.ts';

/** A header with the texts that it names, as `GET …/prompt` and the preview answer it. */
export const promptView = requestHeader.extend({
  turn: z.number().int().nullable(),
  step: z.number().int().nullable(),
  system_text: z.string(),
  section_texts: z.array(z.object({ name: z.string(), owner: z.string(), text: z.string() })),
  tool_schemas: z.array(z.object({ name: z.string(), description: z.string(), input: z.looseObject({}) })),
  /** What the lanes add to the step beside what was claimed. */
  injections: z.array(
    z.object({ source: z.looseObject({ kind: z.string() }), text: z.string(), tokens: z.number() }),
  ),
});
export type PromptView = z.infer<typeof promptView>;

export interface PromptRequest {
  session: SessionFacts;
  plan: PromptPlan;
  call: ModelCall;
  skills: SkillView;
  signal: AbortSignal;
  /** The messages that the step would claim. */
  claimed: readonly UserMessage[];
  lastOfKind: Parameters<typeof runLanes>[1]['lastOfKind'];
}

/** Assembles a prompt without asking a model. Throws what a turn would fail with. */
export async function viewPrompt(request: PromptRequest): Promise<PromptView> {
  const { session, plan, skills, signal } = request;
  const call = await settleCall(plan, request.call, { session, signal });
  const context = { session, call, skills, signal };
  const prompt = await assemble(plan, context);
  const rendered = render(prompt.assembly);
  const preStep = await runLanes(
    plan.layer.lanes,
    {
      ...context,
      turn: 0,
      step: 0,
      claimed: request.claimed,
      assembly: prompt.assembly,
      lastOfKind: request.lastOfKind,
    },
    // Ids are for messages that are logged; these are only shown.
    () => 'preview' as MessageId,
  );
  const built = createHeaderBuilder().build({ agent: plan.agent.name, call, prompt, rendered, skills });
  const messages = preStep.kind === 'enter' ? preStep.messages.slice(request.claimed.length) : [];
  return {
    ...describeHeader(built.header, built),
    section_texts: rendered.sections.map(({ name, owner, text }) => ({ name, owner, text })),
    injections: messages.map(({ source, content }) => describeInjection(source, content)),
  };
}

/** The view of a step that the log holds; `readText` gets a text by its digest. */
export function viewLoggedPrompt(
  at: { turn: number; step: number },
  header: RequestHeader,
  messages: readonly UserMessage[],
  readText: (digest: string) => string,
): PromptView {
  const texts = { system: readText(header.system.digest), toolsJson: readText(header.tools.digest) };
  return {
    ...describeHeader(header, texts),
    ...at,
    section_texts: [],
    injections: messages
      .filter(({ source }) => !isSpeaker(source))
      .map(({ source, content }) => describeInjection(source, content)),
  };
}

/** What a session tells of itself for its prompt. */
export interface PromptSources {
  facts: SessionFacts;
  plan: () => PromptPlan;
  call: ModelCall;
  skills: SkillView;
  claimed: readonly UserMessage[];
  surface: Pick<Surface, 'lastOfKind'>;
  log: Pick<Log, 'readStep' | 'newestBefore'>;
  blobs: Pick<Blobs, 'getText'>;
}

/** `GET …/prompt`: of the step at `at`, from the log; of the next step for null. Throws `step_not_found`. */
export async function describePrompt(
  sources: PromptSources,
  at: { turn: number; step: number } | null,
): Promise<PromptView> {
  const { facts, plan, call, skills, claimed, surface, log, blobs } = sources;
  if (!at) {
    const { lastOfKind } = surface;
    const request = { session: facts, plan: plan(), call, skills, claimed, lastOfKind };
    return withinTimeLimit((signal) => viewPrompt({ ...request, signal }));
  }
  const events = log.readStep(at.turn, at.step);
  const last = events.at(-1);
  const header = last && log.newestBefore('request/header', last.seq);
  if (header?.type !== 'request/header')
    throw stepNotFound(`There is no step ${at.step} of turn ${at.turn}.`);
  const messages = events.flatMap((event) => (event.type === 'user/message' ? [event.message] : []));
  return viewLoggedPrompt(at, header.header, messages, blobs.getText);
}

/** Renders a session's own persona before the session exists. Throws what its first turn would fail with. */
export async function checkPersona(
  deployment: Deployment,
  agent: AgentDefinition,
  input: SessionFacts & { persona: string | null; model: string | null },
  skills: SkillView,
): Promise<void> {
  const call = { ...parseRoute(input.model ?? agent.model), options: agent.options ?? {} };
  const { id, cwd, metadata } = input;
  const request = {
    session: { id, agent: agent.name, cwd, metadata },
    plan: planPrompt(deployment, agent, input.persona),
    call,
    skills,
    claimed: [],
    lastOfKind: () => undefined,
  };
  await withinTimeLimit((signal) => viewPrompt({ ...request, signal }));
}

async function withinTimeLimit<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = startTimeLimit(VIEW_TIMEOUT_MS);
  try {
    return await work(limit.signal);
  } finally {
    limit.end();
  }
}

/** A view runs what plugins provide; one that hangs holds nobody longer than this. */
const VIEW_TIMEOUT_MS = 10_000;

export interface PreviewRequest {
  agent: string | null;
  model: string | null;
  cwd: string | null;
  persona: string | null;
  /** A draft that a person would send. */
  text: string | null;
  skills: SkillView;
  signal: AbortSignal;
}

/** `POST /v1/prompt/preview`: the same as a session's, of no session. */
export async function previewPrompt(deployment: Deployment, request: PreviewRequest): Promise<PromptView> {
  const agent = deployment.agent(request.agent);
  const plan = planPrompt(deployment, agent, request.persona);
  const claimed: UserMessage[] =
    request.text === null
      ? []
      : [
          {
            id: 'preview' as MessageId,
            role: 'user',
            source: { kind: 'user' },
            content: [{ type: 'text', text: request.text }],
          },
        ];
  return viewPrompt({
    session: { id: 'preview', agent: agent.name, cwd: request.cwd ?? DEFAULT_CWD, metadata: {} },
    plan,
    call: { ...parseRoute(request.model ?? agent.model), options: agent.options ?? {} },
    skills: request.skills,
    signal: request.signal,
    claimed,
    lastOfKind: () => undefined,
  });
}

/** Where a session that names no directory works. */
export const DEFAULT_CWD = '/workspace';

function isSpeaker(source: MessageSource): boolean {
  return (
    source.kind === 'user' ||
    source.kind === 'bot' ||
    source.kind === 'webhook' ||
    source.kind === 'delegation'
  );
}

function describeHeader(
  header: RequestHeader,
  texts: Pick<BuiltHeader, 'system' | 'toolsJson'>,
): Omit<PromptView, 'section_texts' | 'injections'> {
  return {
    ...header,
    turn: null,
    step: null,
    system_text: texts.system,
    tool_schemas: promptView.shape.tool_schemas.parse(JSON.parse(texts.toolsJson)),
  };
}

function describeInjection(
  source: MessageSource,
  content: readonly ContentBlock[],
): PromptView['injections'][number] {
  const text = content
    .map((block) => (block.type === 'text' ? block.text : `[${block.type} ${block.blob}]`))
    .join('\n');
  return { source, text, tokens: estimateTokens(text) };
}
