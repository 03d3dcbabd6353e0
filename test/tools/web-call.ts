/** Runs one tool of a plugin as the pipeline does: arguments checked, a refusal as a result with its code. */
import { PerchError } from '../../durable/errors.ts';
import type { Plugin } from '../../durable/plugins.ts';
import type { ToolContext, ToolDefinition, ToolFacts } from '../../durable/tools/types.ts';
import { NO_SKILLS } from './no-skills.ts';

export interface ToolAnswer {
  text: string;
  error: string | undefined;
  facts: ToolFacts | undefined;
}

export function findTool(plugin: Plugin, name: string): ToolDefinition {
  const tool = plugin.tools?.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

/** Rejects with what the pipeline would not make a result of: an abort, a fault of the tool's code. */
export async function callTool(
  plugin: Plugin,
  name: string,
  input: object,
  more: Partial<Pick<ToolContext, 'env' | 'signal'>> = {},
): Promise<ToolAnswer> {
  const tool = findTool(plugin, name);
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) return { text: parsed.error.message, error: 'invalid_arguments', facts: undefined };
  try {
    const output = await tool.run(parsed.data, makeContext(more));
    if (typeof output === 'string') return { text: output, error: undefined, facts: undefined };
    const text = output.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return { text, error: output.error, facts: output.facts };
  } catch (error) {
    if (!(error instanceof PerchError)) throw error;
    return { text: `${error.data.code}: ${error.data.detail}`, error: error.data.code, facts: undefined };
  }
}

function makeContext(more: Partial<Pick<ToolContext, 'env' | 'signal'>>): ToolContext {
  return {
    session: { id: 's', agent: 'a', cwd: '/workspace', metadata: {} },
    // These tools touch no file.
    workspace: new Proxy({} as ToolContext['workspace'], {
      get: (_, name) => {
        throw new Error(`the workspace was asked for ${String(name)}`);
      },
    }),
    env: {},
    call: 'call_1',
    turn: 1,
    step: 1,
    signal: new AbortController().signal,
    skills: NO_SKILLS,
    invokedSkills: () => new Set(),
    now: () => 0,
    ...more,
  };
}
