/**
 * A tool server on loopback: the published package behind node:http, and beside it servers that break the protocol.
 *
 *   /stateless       a server of today's revision, and of the older one without sessions
 *   /sessions        a server of the older revision with sessions, which `forget` makes it forget
 *   /guarded         as /stateless, for those who send the key `KEY`
 *   /oauth           as /stateless, for those who have a token of /token (client `client`, `SECRET`, or `REFRESH`)
 *   /many /schemas … what `RAW` says: lists that nobody should send
 *   /silent /garbage /html /failing /away /circle /endless
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

export const KEY = 'a key that the tool server wants';
const SECRET = 'a secret of the client';
const REFRESH = 'a refresh token';
export const OAUTH = { SECRET, REFRESH };

export interface SeenRequest {
  path: string;
  http: string;
  /** The JSON-RPC method; empty where there is none. */
  method: string;
  headers: Record<string, string>;
}

export interface ToolServer {
  url: string;
  /** Everything that came, in order. */
  seen: SeenRequest[];
  /** What the tool `count` did. */
  effects: string[];
  /** Calls of `slow` that were told to stop. */
  stopped: number;
  /** Requests whose answer is still open. */
  open: () => number;
  /** Whether the tool `grown` is there. */
  setGrown: (grown: boolean) => void;
  /** What `add` says of itself. */
  setDescription: (text: string) => void;
  /** All sessions of /sessions are gone. */
  forget: () => void;
  /** Connections are refused from now on, and taken again at the same port. */
  stop: () => Promise<void>;
  start: () => Promise<void>;
  close: () => Promise<void>;
}

interface State {
  grown: boolean;
  description: string;
  effects: string[];
  stopped: number;
  seen: SeenRequest[];
  tokens: Set<string>;
  sessions: Map<string, WebStandardStreamableHTTPServerTransport>;
}

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const raw = (name: string, inputSchema: unknown, more: object = {}) => ({ name, inputSchema, ...more });

/** Lists of tools by path; `cursor` is a page's number. */
const RAW: Record<string, (cursor: number) => object> = {
  '/many': (page) => ({
    tools: Array.from({ length: 500 }, (_, i) => raw(`tool_${page * 500 + i}`, object({}))),
    ...(page < 19 ? { nextCursor: String(page + 1) } : {}),
  }),
  '/endless-list': (page) => ({ tools: [raw(`page_${page}`, object({}))], nextCursor: String(page + 1) }),
  '/circling-list': () => ({ tools: [raw('only', object({}))], nextCursor: '1' }),
  '/schemas': () => ({
    tools: [
      raw('good', object({ a: { type: 'string' } }, { required: ['a'], anyOf: [{ required: ['a'] }] })),
      raw('no_schema', undefined),
      raw('text', 'object'),
      raw('list', []),
      raw('typeless', {}),
      raw('unknown_type', object({ a: { type: 'strnig' } })),
      raw('bad_required', object({}, { required: 'a' })),
      raw('bad_properties', { type: 'object', properties: ['a'] }),
      raw('elsewhere', object({ a: { $ref: 'https://elsewhere.example/schema' } })),
      raw('deep', object({ a: nest(200) })),
      raw('long', object({ a: { type: 'string', description: 'x'.repeat(40_000) } })),
      { inputSchema: object({}) },
      null,
      raw('', object({})),
      raw('good', object({})),
      raw('talkative', object({}), { description: `\ud800${'y'.repeat(100_000)}` }),
      raw('lone', object({ a: { description: 'x \udc00 y' } })),
    ],
  }),
  '/names': () => ({
    tools: ['files.read', 'files_read', 'a b', 'a.b', 'ü', 'x'.repeat(200), `${'x'.repeat(200)}y`].map(
      (name) => raw(name, object({})),
    ),
  }),
};

function nest(depth: number): object {
  return depth === 0 ? {} : { type: 'object', properties: { a: nest(depth - 1) } };
}

export async function startToolServer(): Promise<ToolServer> {
  const state: State = {
    grown: false,
    description: 'Adds two numbers.',
    effects: [],
    stopped: 0,
    seen: [],
    tokens: new Set(),
    sessions: new Map(),
  };
  const handler = createMcpHandler(() => createTools(state), { keepAliveMs: 0 });
  const answered = { open: 0 };
  const server = createServer((request, response) => {
    answered.open += 1;
    response.once('close', () => {
      answered.open -= 1;
    });
    answer(state, handler.fetch, request, response).catch(() => response.destroy());
  });
  let port = 0;
  const listen = async (): Promise<void> => {
    const listening = Promise.withResolvers<void>();
    server.listen(port, '127.0.0.1', listening.resolve);
    await listening.promise;
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    port = address.port;
  };
  const stop = async (): Promise<void> => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    server.closeAllConnections();
    await closed.promise;
  };
  await listen();
  return {
    url: `http://127.0.0.1:${port}`,
    seen: state.seen,
    effects: state.effects,
    get stopped() {
      return state.stopped;
    },
    open: () => answered.open,
    setGrown: (grown) => {
      state.grown = grown;
    },
    setDescription: (text) => {
      state.description = text;
    },
    forget: () => state.sessions.clear(),
    stop,
    start: listen,
    async close() {
      await handler.close();
      if (server.listening) await stop();
    },
  };
}

function createTools(state: State): McpServer {
  const server = new McpServer({ name: 'loopback', version: '1' });
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
  const add = {
    description: state.description,
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    annotations: { readOnlyHint: true },
  };
  server.registerTool('add', add, ({ a, b }) => text(String(a + b)));
  server.registerTool('refuse', { description: 'Refuses.', inputSchema: z.object({}) }, () => ({
    ...text('not today'),
    isError: true,
  }));
  server.registerTool(
    'count',
    { description: 'Has an effect.', inputSchema: z.object({ text: z.string() }) },
    ({ text: what }) => {
      state.effects.push(what);
      return text(`counted ${state.effects.length}`);
    },
  );
  const measure = {
    description: 'Measures.',
    inputSchema: z.object({}),
    outputSchema: z.object({ metres: z.number() }),
  };
  server.registerTool('measure', measure, () => ({ content: [], structuredContent: { metres: 3 } }));
  server.registerTool('picture', { description: 'Draws.', inputSchema: z.object({}) }, () => ({
    content: [
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource_link', uri: 'file:///a.txt', name: 'a' },
      { type: 'resource', resource: { uri: 'file:///b.txt', text: 'inside b' } },
    ],
  }));
  server.registerTool(
    'slow',
    { description: 'Waits to be told to stop.', inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      const told = Promise.withResolvers<void>();
      mcpReq.signal.addEventListener('abort', () => told.resolve());
      await told.promise;
      state.stopped += 1;
      return text('stopped');
    },
  );
  server.registerTool('echo_key', { description: 'Tells.', inputSchema: z.object({}) }, () =>
    text(`key: ${KEY}`),
  );
  server.registerTool('grow', { description: 'Adds a tool.', inputSchema: z.object({}) }, () => {
    state.grown = true;
    return text('grown');
  });
  if (state.grown) {
    server.registerTool('grown', { description: 'Was added.', inputSchema: z.object({}) }, () =>
      text('here'),
    );
  }
  return server;
}

type Handle = (request: Request) => Promise<Response>;

async function answer(
  state: State,
  serve: Handle,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  const body = await readText(request);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const),
  );
  const rpc = readRpc(body);
  state.seen.push({ path: url.pathname, http: request.method ?? '', method: rpc.method, headers });
  const method = request.method ?? 'GET';
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const asked = new Request(url, { method, headers, signal: gone.signal, ...(body === '' ? {} : { body }) });
  if (isAwkward(url, response)) return;
  const list = RAW[url.pathname];
  const answered = list
    ? answerRaw(list, rpc)
    : await (url.pathname === '/sessions'
        ? serveSession(state, asked)
        : serveGuarded(state, serve, asked, url));
  send(answered, response);
}

function send(answered: Response, response: ServerResponse): void {
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body === null) {
    response.end();
    return;
  }
  const body = Readable.fromWeb(answered.body as NodeStream);
  response.once('close', () => body.destroy());
  body.on('error', () => response.destroy());
  body.pipe(response);
}

/** Answers that have nothing of the protocol. Returns whether this is one. */
function isAwkward(url: URL, response: ServerResponse): boolean {
  const write = (status: number, headers: Record<string, string>, body: string): true => {
    response.writeHead(status, headers).end(body);
    return true;
  };
  switch (url.pathname) {
    case '/silent':
      return true;
    case '/garbage':
      return write(200, { 'content-type': 'application/json' }, '{"jsonrpc": "2.0", "id"');
    case '/stream-garbage':
      return write(200, { 'content-type': 'text/event-stream' }, 'data: {no json\n\ndata: 7\n\n');
    case '/html':
      return write(200, { 'content-type': 'text/html' }, '<h1>Welcome</h1>');
    case '/failing':
      return write(503, {}, 'out of order');
    case '/away':
      return write(307, { location: `http://localhost:${url.port}/stateless` }, '');
    case '/circle':
      return write(307, { location: '/circle' }, '');
    case '/endless':
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(endless()).pipe(response);
      return true;
    default:
      return false;
  }
}

function* endless(): Generator<string> {
  for (;;) yield ' '.repeat(65_536);
}

function answerRaw(list: (cursor: number) => object, rpc: Rpc): Response {
  if (rpc.id === undefined) return new Response(null, { status: 202 });
  const result =
    rpc.method === 'initialize'
      ? {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'raw', version: '1' },
        }
      : list(Number(rpc.params?.cursor ?? 0));
  const known = ['initialize', 'tools/list'].includes(rpc.method);
  const error = { code: -32_601, message: 'Method not found' };
  return Response.json({ jsonrpc: '2.0', id: rpc.id, ...(known ? { result } : { error }) });
}

async function serveSession(state: State, request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id');
  const known = id === null ? undefined : state.sessions.get(id);
  if (known) return known.handleRequest(request);
  if (id !== null) return new Response('no such session', { status: 404 });
  const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (session) => {
      state.sessions.set(session, transport);
    },
    keepAliveMs: 0,
  });
  await createTools(state).connect(transport);
  return transport.handleRequest(request);
}

async function serveGuarded(state: State, serve: Handle, request: Request, url: URL): Promise<Response> {
  const { pathname, origin } = url;
  const refuse = () => {
    const metadata = `${origin}/.well-known/oauth-protected-resource/oauth`;
    const headers = { 'www-authenticate': `Bearer resource_metadata="${metadata}"` };
    return new Response(`no: ${request.headers.get('authorization') ?? ''}`, { status: 401, headers });
  };
  const bearer = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
  switch (pathname) {
    case '/stateless':
      return serve(request);
    case '/guarded': {
      const key = request.headers.get('x-key') ?? bearer;
      return key === KEY ? serve(request) : new Response(`no: ${key}`, { status: 401 });
    }
    case '/oauth':
      return state.tokens.has(bearer) ? serve(request) : refuse();
    case '/.well-known/oauth-protected-resource/oauth':
      return Response.json({ resource: `${origin}/oauth`, authorization_servers: [origin] });
    case '/.well-known/oauth-authorization-server':
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      });
    case '/token':
      return grant(state, request);
    default:
      return new Response('nothing here', { status: 404 });
  }
}

async function grant(state: State, request: Request): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  const basic = `Basic ${btoa(`client:${encodeURIComponent(SECRET)}`)}`;
  const plain = `Basic ${btoa(`client:${SECRET}`)}`;
  const isClient = [basic, plain].includes(request.headers.get('authorization') ?? '');
  const isGranted =
    form.get('grant_type') === 'client_credentials' ||
    (form.get('grant_type') === 'refresh_token' && form.get('refresh_token') === REFRESH);
  if (!isClient || !isGranted) return Response.json({ error: 'invalid_client' }, { status: 401 });
  const token = `token-${state.tokens.size + 1}`;
  state.tokens.add(token);
  return Response.json({ access_token: token, token_type: 'Bearer', expires_in: 3600 });
}

interface Rpc {
  method: string;
  id?: unknown;
  params?: { cursor?: unknown } | undefined;
}

const rpcBody = z.looseObject({
  method: z.string().catch(''),
  id: z.unknown(),
  params: z.looseObject({ cursor: z.unknown() }).optional().catch(undefined),
});

function readRpc(body: string): Rpc {
  try {
    return rpcBody.parse(JSON.parse(body));
  } catch {
    return { method: '' };
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
