/** One client of one server: opened under a time limit, asked, and let go so that nothing of it stays open. */
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { startTimeLimit, untilAborted, waitWithTimer } from '../../time-limit.ts';
import type { Credential } from './credentials.ts';
import { guardFetch } from './guarded-fetch.ts';
import { type ToolPage, toolPage } from './listing.ts';
import type { ListedTool, McpServer } from './types.ts';

/** For the word that a call is cancelled, after which its stream is closed from this side. */
const FLUSH_MS = 1_000;

export interface Connection {
  /** Whether the server says that its list of tools may change. */
  listMayChange: boolean;
  readPage: (cursor: string | undefined, signal: AbortSignal) => Promise<ToolPage>;
  call: (
    tool: ListedTool,
    input: Record<string, unknown>,
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<CallToolResult>;
  /** Takes no more requests; closes when the ones under way are settled. */
  retire: () => void;
}

export interface ConnectOptions {
  server: McpServer;
  credential: Credential;
  allowHosts: readonly string[];
  /** The server said that its list has changed. */
  onListChanged: () => void;
}

export function loadSdk(): Promise<typeof import('./sdk.ts')> {
  return import('./sdk.ts');
}

/** Throws what the package throws, and the signal's reason. */
export async function connect(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  const { server, credential, allowHosts, onListChanged } = options;
  const sdk = await loadSdk();
  const guarded = guardFetch(server.name, allowHosts);
  const client = new sdk.Client(
    { name: 'perch', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: 'auto' } },
  );
  client.setNotificationHandler('notifications/tools/list_changed', onListChanged);
  const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
    fetch: guarded.fetch,
    requestInit: { headers: { ...credential.headers } },
    ...(credential.provider ? { authProvider: credential.provider } : {}),
    reconnectionOptions: {
      initialReconnectionDelay: 200,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
  try {
    await untilAborted(client.connect(transport, { signal }), signal);
  } catch (error) {
    // It may hang in the very request that was given up.
    transport.close().catch(() => undefined);
    throw error;
  }
  return wrapClient(client, guarded.flushed);
}

function wrapClient(client: Client, flushed: () => Promise<void>): Connection {
  let open = 0;
  let isRetired = false;
  const closeIfDone = (): void => {
    if (isRetired && open === 0) void closeAfterFlush(client, flushed);
  };
  const track = async <T>(work: Promise<T>): Promise<T> => {
    open += 1;
    try {
      return await work;
    } finally {
      open -= 1;
      closeIfDone();
    }
  };
  return {
    listMayChange: client.getServerCapabilities()?.tools?.listChanged === true,
    readPage: (cursor, signal) =>
      track(
        client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, toolPage, {
          signal,
        }),
      ),
    call: ({ original, schema }, input, timeoutMs, signal) =>
      track(
        client.callTool(
          { name: original, arguments: input },
          // The definition is for headers that mirror arguments; without an output schema nothing is compiled.
          {
            signal,
            timeout: timeoutMs,
            toolDefinition: { name: original, inputSchema: { ...schema, type: 'object' } },
          },
        ),
      ),
    retire() {
      if (isRetired) return;
      isRetired = true;
      closeIfDone();
    },
  };
}

async function closeAfterFlush(client: Client, flushed: () => Promise<void>): Promise<void> {
  // The package sends its word a few turns of the event loop after it gave up.
  await waitWithTimer(0).done;
  const limit = startTimeLimit(FLUSH_MS);
  try {
    await untilAborted(flushed(), limit.signal);
  } catch {
    // The server takes its time; it sees the connection close.
  } finally {
    limit.end();
    await client.close().catch(() => undefined);
  }
}
