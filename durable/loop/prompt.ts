/** A call's prompt: assembled and rendered for one step, with what its request and its tool calls need. */
import type { ResolvedModel, ToolSchema } from '../models/index.ts';
import { type Assembly, assemble, type BuiltHeader, type ModelCall, render } from '../prompt/index.ts';
import type { SkillView } from '../skills/types.ts';
import type { ToolDefinition, ToolResult } from '../tools/index.ts';
import type { LoopPorts } from './ports.ts';

/** All of it is in the log, so a restart can restore it. */
export interface StepContext {
  turn: number;
  step: number;
  model: ResolvedModel;
  call: ModelCall;
  system: string;
  schemas: readonly ToolSchema[];
  tools: ReadonlyMap<string, ToolDefinition>;
  skills: SkillView;
  /** Calls that the guards have looked at in this life of the object, and the results of those that they refused. */
  judged: Set<string>;
  denied: Map<string, ToolResult>;
}

export interface ComposedPrompt {
  assembly: Assembly;
  header: BuiltHeader;
  context: StepContext;
}

/** Rendering is the only path to the system text. Throws what a mistake in a section or a route fails with. */
export async function composePrompt(
  ports: LoopPorts,
  at: { turn: number; step: number },
  call: ModelCall,
  skills: SkillView,
  signal: AbortSignal,
): Promise<ComposedPrompt> {
  const plan = ports.plan();
  const model = await ports.models(call.provider, call.model);
  const prompt = await assemble(plan, { session: ports.session, call, skills, signal }, ports.env);
  const rendered = render(prompt.assembly);
  const header = ports.headers.build({ agent: plan.agent.name, call, prompt, rendered, skills });
  return {
    assembly: prompt.assembly,
    header,
    context: {
      ...at,
      model,
      call,
      system: header.system,
      schemas: header.tools,
      tools: new Map(prompt.assembly.tools.map(({ tool }) => [tool.name, tool])),
      skills,
      judged: new Set(),
      denied: new Map(),
    },
  };
}
