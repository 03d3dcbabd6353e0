/** What a deployer says of servers that speak the Model Context Protocol over streamable HTTP. */
import type { JsonSchema } from '../types.ts';

export interface McpServer {
  /** Lower-case letters, digits and inner hyphens, 20 at most: it stands in the names of the tools. */
  name: string;
  /** https, unless the host is among `allowHosts`. */
  url: string;
  auth?: McpAuth;
  /** The server's own tool names; `*` at the end stands for any rest. All tools where absent. */
  allow?: readonly string[];
  /** Milliseconds that one call may take, at most five minutes; two where absent. */
  timeoutMs?: number;
  /** Which calls a person has to allow. A server's word that a tool only reads is its own: trust it or say `always`. */
  approval?: 'always' | 'unless-read-only';
  /** Only for sessions whose metadata name it: `{"mcp_servers": "github,linear"}`. For all sessions where absent. */
  onlyNamed?: boolean;
}

/** Variables and secrets by name, never a value. A server whose variable is not set has no tools. */
export type McpAuth =
  | { kind: 'header'; name: string; envVar: string }
  | { kind: 'bearer'; envVar: string }
  | {
      kind: 'oauth';
      grant: 'client_credentials';
      /** The authorization server's: its credentials go to nobody else, whatever the tool server says. */
      issuer: string;
      clientIdVar: string;
      clientSecretVar: string;
      scope?: string;
    }
  /** For authorization servers that do not rotate the token: a new one is kept in memory only. */
  | {
      kind: 'oauth';
      grant: 'refresh_token';
      issuer: string;
      clientIdVar: string;
      clientSecretVar?: string;
      refreshTokenVar: string;
      scope?: string;
    };

export interface McpOptions {
  servers: readonly McpServer[];
  /** `host` or `host:port` that may be asked without https. */
  allowHosts?: readonly string[];
  limits?: Partial<McpLimits>;
  /** One line for each change: a server that cannot be used, or can be again, and what of its list is left out. */
  report?: (change: McpChange) => void;
  now?: () => number;
}

export interface McpChange {
  server: string;
  state: 'up' | 'down';
  /** In words, without secrets. */
  detail: string;
}

export interface McpLimits {
  /** Milliseconds for a connection and a whole list of tools. A step waits no longer, and once only. */
  connectMs: number;
  /** Age at which a list is looked up again, beside the step that found it old. */
  freshMs: number;
  /** Time for which the last good list stands in for a server that does not answer. */
  keepMs: number;
  /** The first pause after a failure; each further one is twice as long, up to `backOffCapMs`. */
  backOffMs: number;
  backOffCapMs: number;
}

export const DEFAULT_LIMITS: McpLimits = {
  connectMs: 3_000,
  freshMs: 60_000,
  // Longer than a deploy of the server, and than the five minutes for which providers keep a prefix: while a prompt
  // is cached, a server that blinks must not take its tools out of it and cost the prefix twice.
  keepMs: 600_000,
  backOffMs: 5_000,
  backOffCapMs: 300_000,
};

/** Enough for slow work of others; the loop's own limit is for tools that answer at once. */
export const CALL_TIMEOUT_MS = 120_000;

/** A tool as its server describes it, checked and bounded. */
export interface ListedTool {
  /** The server's own name. */
  original: string;
  /** As models see it. */
  name: string;
  description: string;
  schema: JsonSchema;
  readOnly: boolean;
  idempotent: boolean;
}

export interface Listed {
  tools: ListedTool[];
  /** What is left out, and why, in words. */
  notes: string[];
}
