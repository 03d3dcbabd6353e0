/**
 * What a deployer composes: agents and plugins. A plugin owns facts; an agent chooses among them. Adding or removing
 * one changes a single line of `deployment.ts`.
 */
import type { LaneDefinition } from './context/types.ts';
import type { ProviderDefinition } from './models/index.ts';
import type {
  AssembleListener,
  ContextDefinition,
  ModelOptions,
  RequestListener,
  SectionDefinition,
  ToolSource,
  VariableDefinition,
} from './prompt/types.ts';
import type { ToolDefinition, ToolGuard } from './tools/types.ts';

export interface Plugin {
  /** The owner that provenance names. */
  name: string;
  sections?: SectionDefinition[];
  variables?: VariableDefinition[];
  contexts?: ContextDefinition[];
  tools?: ToolDefinition[];
  /** Tools that are looked up for each step; they stand after those of the deployment's order. */
  toolSources?: ToolSource[];
  lanes?: LaneDefinition[];
  /** Looked at before each call of any tool, in the order of the deployment's plugins. */
  guards?: ToolGuard[];
  /** Listeners run in the order of the deployment's plugins. */
  onRequest?: RequestListener;
  onAssemble?: AssembleListener;
}

export interface AgentDefinition {
  name: string;
  /** `provider/model`; the first slash divides. */
  model: string;
  options?: ModelOptions;
  /** The section `deployment:persona`: role and behaviour, nothing else. A template. */
  persona: string;
  /** Names of the tools it may use, or all. For tools of a source, `*` at the end stands for any rest. */
  tools: string[] | 'all';
  /** What one turn, and the whole session, may use up; what needs more ends with the reason `budget`. */
  budgets?: { turn?: Budget; session?: Budget };
}

/** Limits; what is absent has none, but for a turn's steps (50). */
export interface Budget {
  /** Model requests, an attempt that is made again not counted. */
  steps?: number;
  toolCalls?: number;
  /** From a turn's start to its end; of a session, the sum over its turns. */
  wallMs?: number;
  /** In and out. Reserved before a request as an estimate of what goes in plus the most that may come out. */
  tokens?: number;
  /** US dollars. Every model that the agent may use needs a price. */
  usd?: number;
}

/** US dollars for a million tokens. `input` is for tokens that no cache had; the cache's default to it. */
export interface Price {
  input: number;
  output: number;
  inputCached?: number;
  inputCacheWrite?: number;
}

/** How requests that failed in passing are asked again. */
export interface RetryPolicy {
  /** Requests of one step, the first included. */
  attempts: number;
  /** The longest first pause; each further one is twice as long at most, up to `capMs`. The pause is at least half of it. */
  baseMs: number;
  capMs: number;
  /** The longest Retry-After that is waited for; a longer one ends the turn with the provider's error. */
  longestWaitMs: number;
}

export interface DeploymentDefinition {
  agents: [AgentDefinition, ...AgentDefinition[]];
  /** The agent of a session that names none; the first where absent. */
  defaultAgent?: string;
  plugins: Plugin[];
  providers: ProviderDefinition[];
  /** Tool names in the order in which models see them, with one `<unlisted-tools>` entry; code-unit order where absent. */
  toolOrder?: string[];
  /** Milliseconds without a piece of the model's stream after which the request is given up. */
  modelStallMs?: number;
  /** Milliseconds in which a step must be prepared: skills, waterfall, sections, variables, lanes. */
  stepMs?: number;
  /** Milliseconds that a person has to decide about a call; what nobody decided is not run. */
  approvalMs?: number;
  /** By route, `provider/model`. */
  prices?: Record<string, Price>;
  retry?: Partial<RetryPolicy>;
}

/** Keeps the literal while it is checked. */
export function defineDeployment(definition: DeploymentDefinition): DeploymentDefinition {
  return definition;
}
