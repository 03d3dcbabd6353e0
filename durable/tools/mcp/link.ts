/** One session's way to one server: its connection, made on use, and the server's list of tools as the session knows it. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { mcpUnavailable, PerchError } from '../../errors.ts';
import { startTimeLimit, untilAborted } from '../../time-limit.ts';
import { type Connection, connect, loadSdk } from './connection.ts';
import type { Credential } from './credentials.ts';
import { describeMcpFailure, isLostSession, redact } from './failure.ts';
import type { Health } from './health.ts';
import { listTools } from './listing.ts';
import type { Listed, ListedTool, McpLimits, McpServer } from './types.ts';

export interface Listing extends Listed {
  /** When the server said it. */
  at: number;
}

export interface LinkPorts {
  server: McpServer;
  credential: Credential;
  allowHosts: readonly string[];
  limits: McpLimits;
  health: Health;
  now: () => number;
  /** The newest list that any session of this process got before it called anything. */
  seed: { read: () => Listing | null; write: (listing: Listing) => void };
}

export interface Link {
  /**
   * The tools for a step, of the last good list. Waits where there is none, where it is too old to stand in, or where
   * the server may have changed it; never for a server that failed last. Rejects with the signal's reason only.
   */
  tools: (signal: AbortSignal) => Promise<readonly ListedTool[]>;
  /** Throws `mcp_error` and `mcp_unavailable`, and the signal's reason. */
  call: (
    tool: ListedTool,
    input: Record<string, unknown>,
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<CallToolResult>;
  /** The text without the server's credentials. */
  redact: (text: string) => string;
}

export function createLink(ports: LinkPorts): Link {
  const { health, limits, now, seed } = ports;
  const connections = createConnections(ports, () => {
    wanted += 1;
  });
  let listing: Listing | null = null;
  /** Goes up whenever the list may have changed; the list answers the number at which its request was sent. */
  let wanted = 0;
  let answered = 0;
  let running: { wanted: number; done: Promise<void> } | null = null;

  const lookUp = async (asked: number): Promise<void> => {
    try {
      const listed = await listOnce(ports, connections);
      listing = { ...listed, at: now() };
      // What this session's calls changed may be this session's alone.
      if (asked === 0) seed.write(listing);
      answered = asked;
      health.succeeded(listed.notes);
    } catch (error) {
      health.failed((await toFailure(ports, error)).message);
    }
  };
  /** Never rejects. One at a time; a list that was asked for before the newest change is followed by another. */
  const refresh = (): Promise<void> => {
    if (running?.wanted === wanted) return running.done;
    const asked = wanted;
    const done = (running?.done ?? Promise.resolve())
      .then(() => lookUp(asked))
      .finally(() => {
        if (running?.wanted === asked) running = null;
      });
    running = { wanted: asked, done };
    return done;
  };
  const suspect = (): void => {
    wanted += 1;
    void refresh();
  };
  const isUsable = (): boolean => listing !== null && now() - listing.at < limits.keepMs;

  return {
    async tools(signal) {
      listing ??= seed.read();
      const isDue = answered !== wanted || listing === null || now() - listing.at >= limits.freshMs;
      if (isDue && health.mayTry()) {
        const mustWait = health.failures() === 0 && (answered !== wanted || !isUsable());
        const refreshed = refresh();
        if (mustWait) await untilAborted(refreshed, signal);
      }
      return listing !== null && isUsable() ? listing.tools : [];
    },
    async call(tool, input, timeoutMs, signal) {
      try {
        const answer = await callOnce(ports, connections, { tool, input, timeoutMs, signal });
        // Nobody listens for the server's word between calls, so it is asked: the next step finds the answer here.
        if (!tool.readOnly && answer.listMayChange) suspect();
        return answer.result;
      } catch (error) {
        // It may not have this tool any more.
        if (error instanceof PerchError && error.data.code === 'mcp_error') suspect();
        throw error;
      }
    },
    redact: (text) => redact(text, ports.credential.secrets),
  };
}

interface Connections {
  open: (signal: AbortSignal) => Promise<Connection>;
  drop: (connection: Connection) => void;
}

/** At most one that takes requests; several who ask at once share it. */
function createConnections(ports: LinkPorts, onListChanged: () => void): Connections {
  let current: Promise<Connection> | null = null;
  let live: Connection | null = null;
  const start = async (): Promise<Connection> => {
    const limit = startTimeLimit(ports.limits.connectMs);
    try {
      live = await connect({ ...ports, onListChanged }, limit.signal);
      return live;
    } catch (error) {
      current = null;
      throw error;
    } finally {
      limit.end();
    }
  };
  return {
    open(signal) {
      current ??= start();
      return untilAborted(current, signal);
    },
    drop(connection) {
      if (connection === live) {
        live = null;
        current = null;
      }
      connection.retire();
    },
  };
}

async function listOnce(ports: LinkPorts, connections: Connections): Promise<Listed> {
  const limit = startTimeLimit(ports.limits.connectMs);
  try {
    return await withConnection(connections, limit.signal, (connection) =>
      untilAborted(
        listTools(ports.server, (cursor) => connection.readPage(cursor, limit.signal)),
        limit.signal,
      ),
    );
  } finally {
    limit.end();
  }
}

interface Call {
  tool: ListedTool;
  input: Record<string, unknown>;
  timeoutMs: number;
  signal: AbortSignal;
}

async function callOnce(
  ports: LinkPorts,
  connections: Connections,
  { tool, input, timeoutMs, signal }: Call,
): Promise<{ result: CallToolResult; listMayChange: boolean }> {
  let isSent = false;
  try {
    return await withConnection(connections, signal, async (connection) => {
      isSent = true;
      const result = await connection.call(tool, input, timeoutMs, signal);
      return { result, listMayChange: connection.listMayChange };
    });
  } catch (error) {
    signal.throwIfAborted();
    const failure = await toFailure(ports, error);
    if (failure.data.code !== 'mcp_unavailable') throw failure;
    if (!isSent) {
      ports.health.failed(failure.message);
      throw failure;
    }
    throw tool.idempotent
      ? failure
      : mcpUnavailable(`${failure.message} Whether the call had its effect is not known.`);
  }
}

/**
 * Work over a connection, once more over a new one where the server has forgotten the session. A connection that failed
 * otherwise is let go, with all that is still open in it, so that the next use starts from nothing.
 */
async function withConnection<T>(
  connections: Connections,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const sdk = await loadSdk();
  for (let attempt = 1; ; attempt++) {
    const connection = await connections.open(signal);
    try {
      return await work(connection);
    } catch (error) {
      // An error of the server's own is an answer.
      if (error instanceof sdk.ProtocolError) throw error;
      connections.drop(connection);
      if (attempt > 1 || signal.aborted || !isLostSession(sdk, error)) throw error;
    }
  }
}

async function toFailure({ server, credential }: LinkPorts, error: unknown): Promise<PerchError> {
  if (error instanceof PerchError) return error;
  const sdk = await loadSdk().catch(() => null);
  return describeMcpFailure(sdk, server.name, error, credential.secrets);
}
