/** The vocabulary of prompt assembly (DESIGN section 5). Interfaces are open for declaration merging. */
import { z } from 'zod';
import type { SkillView } from '../skills/types.ts';
import type { ToolContext, ToolDefinition } from '../tools/types.ts';
import type { Failure } from '../transcript/events.ts';

export interface SessionFacts {
  id: string;
  agent: string;
  cwd: string;
  metadata: Record<string, string>;
}

/** The model call of one step. The waterfall `agent/request` may change it before assembly. */
export interface ModelCall {
  provider: string;
  model: string;
  /** Temperature, output limit and provider options, as given to the adapter. */
  options: ModelOptions;
}

export const modelOptions = z.strictObject({
  maxOutputTokens: z.number().int().positive().exactOptional(),
  temperature: z.number().exactOptional(),
  topP: z.number().exactOptional(),
  stopSequences: z.array(z.string()).exactOptional(),
  reasoning: z.enum(['none', 'minimal', 'low', 'medium', 'high']).exactOptional(),
  /** Passed to the provider's adapter as it is. */
  providerOptions: z.record(z.string(), z.record(z.string(), z.json())).exactOptional(),
});
export type ModelOptions = z.infer<typeof modelOptions>;

/** What assembly knows. A plugin extends it by declaration merging. */
export interface AssembleContext {
  session: SessionFacts;
  call: ModelCall;
  skills: SkillView;
  signal: AbortSignal;
}

type Awaitable<T> = T | Promise<T>;

export interface SectionDefinition {
  /** `owner:topic`, unique in its layer; a nearer layer shadows the same name. */
  name: string;
  /** Finite. −100 identity, 0 persona, 100–199 tool guidance. Ties are broken by name. */
  order: number;
  /** A template with `{{variables}}`, unless `verbatim`. */
  text: string | ((context: AssembleContext) => Awaitable<string>);
  /** Not a template: braces stay as they are. */
  verbatim?: boolean;
}

export interface VariableDefinition {
  /** `[a-z][a-z0-9_]*`. */
  name: string;
  /** May have no value (`undefined`): only a reference to it fails. */
  provide: (context: AssembleContext) => Awaitable<string | undefined>;
}

/** A part of the runtime-context snapshot, which goes into a message and not into the system text. */
export interface ContextDefinition {
  name: string;
  order: number;
  text: (context: AssembleContext) => Awaitable<string | undefined>;
}

export interface ResolvedSection {
  name: string;
  owner: string;
  order: number;
  text: string;
  verbatim: boolean;
}

export interface ResolvedContext {
  name: string;
  owner: string;
  order: number;
  text: string;
}

export interface ResolvedTool {
  owner: string;
  tool: ToolDefinition;
}

/** Tools that are known only as a step begins: those of servers that others run. */
export interface ToolSource {
  /** What the names of all its tools begin with; no other tool's name does. */
  prefix: string;
  /**
   * Resolves soon, whatever the source's servers do: what cannot be had is left out. It sees `env`, as tools do and
   * sections do not.
   */
  list: (context: ToolSourceContext) => Awaitable<ResolvedTool[]>;
}

export interface ToolSourceContext {
  session: SessionFacts;
  env: ToolContext['env'];
  signal: AbortSignal;
}

/** Sections, contexts, tools and variables resolved for one step, before rendering. */
export interface Assembly {
  sections: ResolvedSection[];
  contexts: ResolvedContext[];
  tools: ResolvedTool[];
  /** By name; a listener declares a late fact by setting one. */
  variables: Record<string, string | undefined>;
}

/** Late facts and filters: sees the resolved assembly and may change it in place. */
export type AssembleListener = (assembly: Assembly, context: AssembleContext) => Awaitable<void>;
/** What the waterfall knows of the request that it settles. */
export interface RequestContext {
  session: SessionFacts;
  signal: AbortSignal;
  /** Of the step, from 1. */
  attempt: number;
  /** Why the attempt before failed, so that a listener may choose another model for this one. */
  failure: Failure | null;
}
/** May change the call in place, or return another. It runs again for each attempt that follows a failure. */
export type RequestListener = (
  call: ModelCall,
  context: RequestContext,
) => Awaitable<ModelCall | undefined> | Awaitable<void>;

/** The text of a system prompt, with each part's provenance. */
export interface RenderedSection {
  name: string;
  owner: string;
  order: number;
  text: string;
}
export interface RenderedPrompt {
  text: string;
  sections: RenderedSection[];
  /** Names of the variables that a section referred to. */
  used: string[];
}
