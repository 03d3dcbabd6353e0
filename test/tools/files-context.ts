/** Calls of the file tools over a workspace, as the pipeline makes them. */
import { PerchError } from '../../durable/errors.ts';
import { fileTools } from '../../durable/tools/files/index.ts';
import type { ToolContext } from '../../durable/tools/index.ts';
import type { Workspace } from '../../durable/workspace/index.ts';
import { makeView } from '../skills/sample-skills.ts';

export interface Answer {
  text: string;
  /** The code of a call that failed. */
  error: string | null;
}

export type Call = (tool: string, input: object, context?: Partial<ToolContext>) => Promise<Answer>;

/** Each call has an id of its own unless the context says another. */
export function callOver(workspace: Workspace): Call {
  let calls = 0;
  return async (name, input, context = {}) => {
    const tool = fileTools.tools?.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const parsed = tool.input.safeParse(input);
    if (!parsed.success) return { text: parsed.error.message, error: 'invalid_arguments' };
    try {
      const output = await tool.run(parsed.data, {
        ...makeContext(workspace, `call_${++calls}`),
        ...context,
      });
      const blocks = typeof output === 'string' ? [{ type: 'text' as const, text: output }] : output.content;
      return { text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''), error: null };
    } catch (error) {
      if (error instanceof PerchError) return { text: error.data.detail, error: error.data.code };
      throw error;
    }
  };
}

function makeContext(workspace: Workspace, call: string): ToolContext {
  return {
    session: { id: 's', agent: 'a', cwd: workspace.cwd, metadata: {} },
    workspace,
    env: {},
    call,
    turn: 1,
    step: 1,
    signal: new AbortController().signal,
    skills: makeView({}),
    invokedSkills: () => new Set(),
    now: () => 0,
  };
}
