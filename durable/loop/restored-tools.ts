/** The tools of a step that an earlier life of this object entered. */
import { assemble, modelOptions } from '../prompt/index.ts';
import type { ToolDefinition } from '../tools/index.ts';
import type { RequestHeader } from '../transcript/index.ts';
import type { LoopPorts } from './ports.ts';

/**
 * By name, those that the header names. Where it names some that the plan does not have, a source or a listener added
 * them: the step is assembled again, to have them from there. Throws what assembly throws.
 */
export async function restoreTools(
  ports: LoopPorts,
  { tools: { names }, provider, model, config }: RequestHeader,
  signal: AbortSignal,
): Promise<Map<string, ToolDefinition>> {
  const plan = ports.plan();
  const { session } = ports;
  const known = new Map(plan.tools.map(({ definition }) => [definition.name, definition]));
  if (names.some(({ name }) => !known.has(name))) {
    const call = { provider, model, options: modelOptions.parse(config) };
    const skills = await ports.skills.view();
    const { assembly } = await assemble(plan, { session, call, skills, signal }, ports.env);
    for (const { tool } of assembly.tools) known.set(tool.name, tool);
  }
  const restored = new Map<string, ToolDefinition>();
  for (const { name } of names) {
    const tool = known.get(name);
    if (tool) restored.set(name, tool);
  }
  return restored;
}
