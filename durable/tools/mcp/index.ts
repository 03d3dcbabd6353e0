/** Tools of servers that speak the Model Context Protocol. */
import type { Plugin } from '../../plugins.ts';
import type { ResolvedTool, SessionFacts, ToolSourceContext } from '../../prompt/types.ts';
import type { ToolContext, ToolDefinition } from '../types.ts';
import { checkServers } from './config.ts';
import { readCredential } from './credentials.ts';
import { defineListedTool } from './define.ts';
import { createHealth, type Health } from './health.ts';
import { createLink, type Link, type Listing } from './link.ts';
import { MCP_PREFIX } from './names.ts';
import {
  DEFAULT_LIMITS,
  type ListedTool,
  type McpChange,
  type McpLimits,
  type McpOptions,
  type McpServer,
} from './types.ts';

export type { McpAuth, McpChange, McpLimits, McpOptions, McpServer } from './types.ts';

/** The member of a session's metadata that names servers which only some sessions have; commas between. */
const SESSION_SERVERS = 'mcp_servers';

/** Throws `registry_invalid` and `registry_duplicate` for a server that is named wrongly, twice, or without https. */
export function mcpTools(options: McpOptions): Plugin {
  const { servers, allowHosts = [], now = Date.now, report = writeLine } = options;
  checkServers(servers, allowHosts);
  const limits: McpLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const rooms = servers.map((server) => createRoom(server, { allowHosts, limits, now, report }));
  return {
    name: 'mcp',
    toolSources: [
      {
        prefix: MCP_PREFIX,
        async list(context) {
          const wanted = rooms.filter(({ server }) => isWanted(server, context.session));
          return (await Promise.all(wanted.map((room) => room.list(context)))).flat();
        },
      },
    ],
  };
}

function writeLine({ server, state, detail }: McpChange): void {
  const msg = state === 'down' ? 'a tool server cannot be used' : 'a tool server can be used';
  console.warn(JSON.stringify({ level: 'warn', msg, server, detail }));
}

function isWanted({ name, onlyNamed = false }: McpServer, { metadata }: SessionFacts): boolean {
  if (!onlyNamed) return true;
  const named = metadata[SESSION_SERVERS] ?? '';
  return named.split(',').some((entry) => entry.trim() === name);
}

interface RoomPorts {
  allowHosts: readonly string[];
  limits: McpLimits;
  now: () => number;
  report: (change: McpChange) => void;
}

interface Room {
  server: McpServer;
  list: (context: ToolSourceContext) => Promise<ResolvedTool[]>;
}

/** One server. Connections belong to sessions: what one object opened, another cannot use. */
function createRoom(server: McpServer, ports: RoomPorts): Room {
  const { now, limits, report } = ports;
  const health: Health = createHealth(server.name, limits, now, report);
  const links = new WeakMap<SessionFacts, Link>();
  let seed: Listing | null = null;

  const findLink = (session: SessionFacts, env: ToolContext['env']): Link | null => {
    const known = links.get(session);
    if (known) return known;
    const credential = readCredential(server.auth, env);
    if (credential === null) return null;
    const link = createLink({
      ...ports,
      server,
      credential,
      health,
      seed: {
        read: () => seed,
        write: (listing) => {
          seed = listing;
        },
      },
    });
    links.set(session, link);
    return link;
  };
  const linkOf = ({ session, env }: Pick<ToolContext, 'session' | 'env'>): Link => {
    const link = findLink(session, env);
    if (link === null) throw new Error(`${server.name} has no credentials here`);
    return link;
  };
  const define = keepDefinitions((tool) => defineListedTool(server, tool, linkOf));

  return {
    server,
    async list({ session, env, signal }) {
      const link = findLink(session, env);
      if (link === null) {
        health.unusable(`${describeMissing(server)} is not set, or cannot be sent.`);
        return [];
      }
      return (await link.tools(signal)).map((tool) => ({ owner: `mcp:${server.name}`, tool: define(tool) }));
    },
  };
}

function describeMissing({ auth }: McpServer): string {
  if (auth === undefined) return 'Nothing';
  return auth.kind === 'oauth' ? `One of the variables of its OAuth client` : auth.envVar;
}

/** The very same definition for the same description, so that an unchanged step is seen to be unchanged. */
function keepDefinitions(define: (tool: ListedTool) => ToolDefinition): (tool: ListedTool) => ToolDefinition {
  const byTool = new WeakMap<ListedTool, ToolDefinition>();
  const byName = new Map<string, { text: string; definition: ToolDefinition }>();
  return (tool) => {
    const known = byTool.get(tool);
    if (known) return known;
    const text = JSON.stringify(tool);
    const kept = byName.get(tool.name);
    const definition = kept?.text === text ? kept.definition : define(tool);
    byTool.set(tool, definition);
    byName.set(tool.name, { text, definition });
    return definition;
  };
}
