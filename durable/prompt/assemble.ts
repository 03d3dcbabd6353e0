/** Resolves sections, contexts, tools and variables for one step, and lets the waterfall change them. */

import { unknownTool } from '../errors.ts';
import type { AgentDefinition } from '../plugins.ts';
import type { ToolContext, ToolDefinition } from '../tools/types.ts';
import { PERSONA_ORDER, PERSONA_SECTION } from './builtin.ts';
import {
  compareNames,
  composeLayers,
  createLayer,
  type Layer,
  type Owned,
  orderTools,
  sortByOrder,
} from './registry.ts';
import type {
  AssembleContext,
  Assembly,
  ContextDefinition,
  ModelCall,
  RequestContext,
  ResolvedTool,
  SectionDefinition,
  ToolSourceContext,
  VariableDefinition,
} from './types.ts';

/** Everything of a prompt that does not change from step to step of a session. */
export interface PromptPlan {
  agent: AgentDefinition;
  sections: Owned<SectionDefinition>[];
  contexts: Owned<ContextDefinition>[];
  variables: Owned<VariableDefinition>[];
  /** The agent's tools, in the order in which models see them. */
  tools: Owned<ToolDefinition>[];
  /** Whether the agent, and the session, may use a tool of a source. */
  mayUse: (name: string) => boolean;
  /** Plugins that have tools, offered or not. */
  toolOwners: ReadonlySet<string>;
  layer: Layer;
}

export interface ResolvedPrompt {
  assembly: Assembly;
  /** Who gave each variable its value: its provider, or the listener that set it last. */
  variableOwners: Record<string, string>;
}

/** Composes the layers for one session. Throws for an agent that names a tool which nobody registers. */
export function planPrompt(
  deployment: { layer: Layer; toolOrder: string[] | undefined },
  agent: AgentDefinition,
  sessionPersona: string | null,
  sessionTools: readonly string[] | null = null,
): PromptPlan {
  const session = createLayer(
    sessionPersona === null
      ? []
      : [
          {
            name: 'session',
            sections: [{ name: PERSONA_SECTION, order: PERSONA_ORDER, text: sessionPersona }],
          },
        ],
  );
  const layer = composeLayers([deployment.layer, session]);
  const names = orderTools([...layer.tools.keys()], deployment.toolOrder);
  const { tools } = agent;
  if (tools !== 'all') {
    const missing = tools.find((name) => !layer.tools.has(name) && !isOfSource(layer, name));
    if (missing)
      throw unknownTool(`The agent ${agent.name} uses the tool ${missing}, which no plugin registers.`);
  }
  return {
    agent,
    sections: sortByOrder(layer.sections.values()),
    contexts: sortByOrder(layer.contexts.values()),
    variables: [...layer.variables.values()],
    tools: names
      .filter((name) => tools === 'all' || tools.includes(name))
      .filter((name) => sessionTools === null || sessionTools.includes(name))
      .flatMap((name) => layer.tools.get(name) ?? []),
    mayUse: (name) =>
      isOfSource(layer, name) &&
      (tools === 'all' || isListed(tools, name)) &&
      (sessionTools === null || isListed(sessionTools, name)),
    toolOwners: new Set([...layer.tools.values()].map(({ owner }) => owner)),
    layer,
  };
}

function isOfSource({ toolSources }: Layer, name: string): boolean {
  return toolSources.some(({ definition }) => name.startsWith(definition.prefix));
}

function isListed(rules: readonly string[], name: string): boolean {
  return rules.some((rule) => (rule.endsWith('*') ? name.startsWith(rule.slice(0, -1)) : name === rule));
}

/** The tools of the plan's sources, sorted by code unit. */
async function listSourced(plan: PromptPlan, context: ToolSourceContext): Promise<ResolvedTool[]> {
  const { toolSources } = plan.layer;
  const lists = await Promise.all(toolSources.map(({ definition }) => definition.list(context)));
  return lists
    .flat()
    .filter(({ tool }) => plan.mayUse(tool.name))
    .sort((a, b) => compareNames(a.tool.name, b.tool.name));
}

/** The band of tool guidance (DESIGN section 5). */
const GUIDANCE = { first: 100, last: 199 };

/** Guidance goes with its tools: where none of its owner's is offered, it would speak of what the model does not have. */
function isIdleGuidance(
  { toolOwners }: PromptPlan,
  { tools }: Assembly,
  owner: string,
  { order }: SectionDefinition,
): boolean {
  if (order < GUIDANCE.first || order > GUIDANCE.last || !toolOwners.has(owner)) return false;
  return !tools.some((tool) => tool.owner === owner);
}

/** The waterfall `agent/request`: settles provider, model and options before anything is assembled for them. */
export async function settleCall(
  plan: PromptPlan,
  base: ModelCall,
  context: RequestContext,
): Promise<ModelCall> {
  let call: ModelCall = { ...base, options: { ...base.options } };
  for (const { listen } of plan.layer.onRequest) call = (await listen(call, context)) ?? call;
  return call;
}

/**
 * Resolves the plan for one step and runs the waterfall `system-prompt/assemble` over it. `env` decides only which tools
 * there are: no section, variable or listener sees it, so no secret can come into a prompt by this way. Without it,
 * sources are not asked.
 */
export async function assemble(
  plan: PromptPlan,
  context: AssembleContext,
  env?: ToolContext['env'],
): Promise<ResolvedPrompt> {
  const assembly: Assembly = {
    sections: [],
    contexts: [],
    tools: plan.tools
      .filter(({ definition }) => definition.available?.({ skills: context.skills, env: env ?? {} }) ?? true)
      .map(({ owner, definition }) => ({ owner, tool: definition })),
    // No prototype: a section that names `constructor` finds nothing.
    variables: Object.create(null) as Record<string, string | undefined>,
  };
  if (env !== undefined && plan.layer.toolSources.length > 0) {
    const { session, signal } = context;
    assembly.tools.push(...(await listSourced(plan, { session, env, signal })));
  }
  const variableOwners: Record<string, string> = {};
  for (const { owner, definition } of plan.variables) {
    assembly.variables[definition.name] = await definition.provide(context);
    variableOwners[definition.name] = owner;
  }
  for (const { owner, definition } of plan.sections) {
    if (isIdleGuidance(plan, assembly, owner, definition)) continue;
    const { name, order, verbatim = false } = definition;
    const text = typeof definition.text === 'string' ? definition.text : await definition.text(context);
    assembly.sections.push({ name, owner, order, text, verbatim });
  }
  for (const { owner, definition } of plan.contexts) {
    const text = await definition.text(context);
    if (text) assembly.contexts.push({ name: definition.name, owner, order: definition.order, text });
  }
  for (const { owner, listen } of plan.layer.onAssemble) {
    const before = { ...assembly.variables };
    await listen(assembly, context);
    for (const [name, value] of Object.entries(assembly.variables)) {
      if (before[name] !== value || !Object.hasOwn(variableOwners, name)) variableOwners[name] = owner;
    }
  }
  return { assembly, variableOwners };
}
