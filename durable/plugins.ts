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
  VariableDefinition,
} from './prompt/types.ts';
import type { ToolDefinition } from './tools/types.ts';

export interface Plugin {
  /** The owner that provenance names. */
  name: string;
  sections?: SectionDefinition[];
  variables?: VariableDefinition[];
  contexts?: ContextDefinition[];
  tools?: ToolDefinition[];
  lanes?: LaneDefinition[];
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
  /** Names of the tools it may use, or all. */
  tools: string[] | 'all';
  /** Model requests in one turn; a turn that needs more ends with `budget`. */
  maxSteps?: number;
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
}

/** Keeps the literal while it is checked. */
export function defineDeployment(definition: DeploymentDefinition): DeploymentDefinition {
  return definition;
}
