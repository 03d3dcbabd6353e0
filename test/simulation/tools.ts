/**
 * Tools whose effects are in the world outside, so that they outlive the object that caused them. What a call does is
 * in its arguments, which the simulated model chose.
 */
import { z } from 'zod';
import type { Plugin } from '../../durable/plugins.ts';
import { defineTool, type ToolContext, type ToolDefinition } from '../../durable/tools/index.ts';

const conduct = z.strictObject({
  /** Answers, throws before or after its effect, never answers, or answers with an error of its own. */
  do: z.enum(['answer', 'throw', 'throw-late', 'hang', 'refuse', 'at-once']),
  ms: z.number(),
});
export type Conduct = z.infer<typeof conduct>;

export interface Effects {
  /** Where the session's object reaches the world from. */
  perform: (context: ToolContext, ms: number, effect: () => void) => Promise<void>;
  /** How often the call had its effect. */
  note: (session: string, call: string, tool: string) => void;
}

export const TOOLS = ['once', 'again', 'beside', 'beside_once'] as const;
export type ToolName = (typeof TOOLS)[number];
export const TOOL_TRAITS: Record<ToolName, { parallelSafe: boolean; idempotent: boolean }> = {
  once: { parallelSafe: false, idempotent: false },
  again: { parallelSafe: false, idempotent: true },
  beside: { parallelSafe: true, idempotent: true },
  beside_once: { parallelSafe: true, idempotent: false },
};
export const TOOL_TIMEOUT_MS = 15_000;

/** What a tool says when its effect happened, and when it did not. */
export const DID = 'it took effect';
export const DID_NOT = 'it had no effect';

export function createTools(effects: Effects): Plugin {
  return { name: 'simulated', tools: TOOLS.map((name) => createTool(name, effects)) };
}

function createTool(name: ToolName, effects: Effects): ToolDefinition {
  return defineTool({
    name,
    description: `The tool ${name}.`,
    input: conduct,
    ...TOOL_TRAITS[name],
    timeoutMs: TOOL_TIMEOUT_MS,
    run(input, context) {
      if (input.do === 'at-once') return `${name}: ${DID_NOT}`;
      if (input.do === 'throw') throw new Error(DID_NOT);
      return run(name, input, context, effects);
    },
  });
}

async function run(name: string, input: Conduct, context: ToolContext, effects: Effects) {
  if (input.do === 'refuse') {
    await effects.perform(context, input.ms, () => undefined);
    return { content: [{ type: 'text' as const, text: DID_NOT }], error: 'refused' };
  }
  await effects.perform(context, input.ms, () => effects.note(context.session.id, context.call, name));
  if (input.do === 'throw-late') throw new Error(DID);
  if (input.do === 'hang') await new Promise<never>(() => undefined);
  return `${name}: ${DID}`;
}
