/** Runs of the shell's tool as the loop makes them: through the pipeline, over a workspace. */

import { waitWithTimer } from '../../durable/time-limit.ts';
import { runTool, type ToolContext } from '../../durable/tools/index.ts';
import { shellTools } from '../../durable/tools/shell/index.ts';
import type { Workspace } from '../../durable/workspace/index.ts';
import { NO_SKILLS } from './no-skills.ts';

export interface Answer {
  /** As the model reads it. */
  text: string;
  /** Of the pipeline: a call that failed, not a script. */
  error: string | undefined;
  /** As it is in the log. */
  status: unknown;
}

export type Shell = (command: string, options?: Options) => Promise<Answer>;
interface Options {
  timeout_ms?: number | string;
  signal?: AbortSignal;
  env?: ToolContext['env'];
}

const tools = new Map((shellTools.tools ?? []).map((tool) => [tool.name, tool]));

export function shellOver(workspace: Workspace): Shell {
  let calls = 0;
  return async (command, { signal = new AbortController().signal, env = {}, ...more } = {}) => {
    const id = `call_${++calls}`;
    const input = { command, ...more };
    const context = { ...makeContext(workspace, id), signal, env };
    const result = await runTool(
      { type: 'tool-call', id, name: 'bash', input },
      tools,
      context,
      waitWithTimer,
    );
    const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return { text, error: result.error, status: result.facts?.['exit_status'] };
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
    skills: NO_SKILLS,
    invokedSkills: () => new Set(),
    now: Date.now,
  };
}
