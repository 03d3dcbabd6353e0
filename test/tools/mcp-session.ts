/** One session over the plugin, as the loop uses it: tools for a step, and calls through the pipeline. */
import type { Plugin } from '../../durable/plugins.ts';
import type { ResolvedTool, SessionFacts } from '../../durable/prompt/types.ts';
import { waitWithTimer } from '../../durable/time-limit.ts';
import { type McpChange, type McpLimits, type McpServer, mcpTools } from '../../durable/tools/mcp/index.ts';
import { runTool } from '../../durable/tools/run.ts';
import type { ToolContext } from '../../durable/tools/types.ts';
import { NO_SKILLS } from './no-skills.ts';

export interface Setup {
  plugin: Plugin;
  changes: McpChange[];
  /** Moves the clock that ages and pauses are measured with. */
  advance: (ms: number) => void;
}

export function setUp(servers: McpServer[], limits: Partial<McpLimits> = {}): Setup {
  const changes: McpChange[] = [];
  let time = 1_000_000;
  const plugin = mcpTools({
    servers,
    allowHosts: ['127.0.0.1'],
    limits: { connectMs: 1_000, ...limits },
    report: (change) => changes.push(change),
    now: () => time,
  });
  return {
    plugin,
    changes,
    advance: (ms) => {
      time += ms;
    },
  };
}

export interface McpSession {
  tools: () => Promise<ResolvedTool[]>;
  names: () => Promise<string[]>;
  call: (
    name: string,
    input: Record<string, unknown>,
    signal?: AbortSignal,
  ) => Promise<{ text: string; error: string | undefined }>;
}

export function openMcpSession(
  { plugin }: Setup,
  env: ToolContext['env'] = {},
  metadata: Record<string, string> = {},
): McpSession {
  const session: SessionFacts = { id: 's', agent: 'a', cwd: '/workspace', metadata };
  const [source] = plugin.toolSources ?? [];
  if (!source) throw new Error('the plugin has no source');
  const tools = async () => source.list({ session, env, signal: new AbortController().signal });
  return {
    tools,
    names: async () => (await tools()).map(({ tool }) => tool.name),
    async call(name, input, signal = new AbortController().signal) {
      const known = new Map((await tools()).map(({ tool }) => [tool.name, tool]));
      const context: ToolContext = {
        session,
        // These tools touch no file.
        workspace: new Proxy({} as ToolContext['workspace'], {}),
        env,
        call: 'call_1',
        turn: 1,
        step: 1,
        signal,
        skills: NO_SKILLS,
        invokedSkills: () => new Set(),
        now: () => 0,
      };
      const call = {
        type: 'tool-call' as const,
        id: 'call_1',
        name,
        input: JSON.parse(JSON.stringify(input)),
      };
      const { content, error } = await runTool(call, known, context, waitWithTimer);
      return { text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''), error };
    },
  };
}
