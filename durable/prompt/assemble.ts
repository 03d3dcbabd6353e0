/** Resolves sections, contexts, tools and variables for one step, and lets the waterfall change them. */

import { unknownTool } from '../errors.ts';
import type { AgentDefinition } from '../plugins.ts';
import type { ToolDefinition } from '../tools/types.ts';
import { PERSONA_ORDER, PERSONA_SECTION } from './builtin.ts';
import { composeLayers, createLayer, type Layer, type Owned, orderTools, sortByOrder } from './registry.ts';
import type {
  AssembleContext,
  Assembly,
  ContextDefinition,
  ModelCall,
  RequestContext,
  SectionDefinition,
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
    const missing = tools.find((name) => !layer.tools.has(name));
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
      .flatMap((name) => layer.tools.get(name) ?? []),
    layer,
  };
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

/** Resolves the plan for one step and runs the waterfall `system-prompt/assemble` over it. */
export async function assemble(plan: PromptPlan, context: AssembleContext): Promise<ResolvedPrompt> {
  const assembly: Assembly = {
    sections: [],
    contexts: [],
    tools: plan.tools
      .filter(({ definition }) => definition.available?.({ skills: context.skills }) ?? true)
      .map(({ owner, definition }) => ({ owner, tool: definition })),
    // No prototype: a section that names `constructor` finds nothing.
    variables: Object.create(null) as Record<string, string | undefined>,
  };
  const variableOwners: Record<string, string> = {};
  for (const { owner, definition } of plan.variables) {
    assembly.variables[definition.name] = await definition.provide(context);
    variableOwners[definition.name] = owner;
  }
  for (const { owner, definition } of plan.sections) {
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
