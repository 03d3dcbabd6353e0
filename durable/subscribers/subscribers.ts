/**
 * Who listens to a session: hibernating sockets, held by clients, and by the worker for SSE and for reply streams. A
 * socket gets the backlog that it asked for, the text of the answer in progress, `ready`, and from then on what happens.
 * It keeps nobody awake, and one whose client does not keep up is no burden to the turn.
 */
import { Buffer } from 'node:buffer';
import { type ErrorData, invalidRequest, missingScope, type Outcome } from '../errors.ts';
import { createAdmissions } from '../inbox/index.ts';
import { type CancelTurn, SOCKET_GRANT_HEADER, type SocketGrant, socketGrant } from '../rpc.ts';
import {
  addCursor,
  type Cursor,
  createCursor,
  type Place,
  parsePlace,
  type StreamFrame,
} from '../stream-cursor.ts';
import type { Committed, DeltaFrame, Log, StreamBuffer } from '../transcript/index.ts';
import { keepRecent, readBacklog, toFrames } from './backlog.ts';
import { createDeltaPacer } from './delta-pacer.ts';
import { FLOW_LIMITS, type FlowLimits } from './flow.ts';
import { PING, parseRequest } from './requests.ts';
import { createViewer, type Viewer } from './viewer.ts';

export interface Subscribers {
  /** Answers an upgrade. Query: `after=<cursor>`, or `message=<id>`. 400 for what is no cursor. */
  accept: (request: Request) => Response;
  /** What a socket's client says. */
  receive: (socket: WebSocket, message: string | ArrayBuffer) => Promise<void>;
  /** Text of an answer in progress, paced. */
  publish: (frame: DeltaFrame) => void;
  publishCommitted: (committed: Committed[]) => void;
  forget: (socket: WebSocket) => void;
  closeAll: (code: number, reason: string) => void;
}

export interface SubscriberPorts {
  sockets: Pick<DurableObjectState, 'acceptWebSocket' | 'getWebSockets' | 'setWebSocketAutoResponse'>;
  log: Log;
  stream: StreamBuffer;
  /** The session's own. */
  cancel: (input: CancelTurn) => Promise<Outcome<unknown>>;
  now: () => number;
}

const NOBODY: SocketGrant = { by: 'nobody', cancel: false, trusted: false };

export function createSubscribers(
  { sockets, log, stream, cancel, now }: SubscriberPorts,
  limits: FlowLimits = FLOW_LIMITS,
): Subscribers {
  const viewers = new Map<WebSocket, Viewer>();
  const admissions = createAdmissions(log);
  let recent: Committed[] = [];
  /** Where all viewers stand that are live. */
  let live = createCursor({ seq: log.lastSeq(), part: null });
  let slowTimer: ReturnType<typeof setTimeout> | null = null;

  const add = (socket: WebSocket, grant: SocketGrant): Viewer => {
    const viewer = createViewer(socket, grant, { limits, now, onGone: () => viewers.delete(socket) });
    viewers.set(socket, viewer);
    return viewer;
  };
  /** While somebody is behind, and for so long at the most, the object stays awake: a timer keeps it from sleeping. */
  const watchSlow = (): void => {
    const since = [...viewers.values()].map((viewer) => viewer.behindSince()).filter((at) => at !== null);
    if (slowTimer !== null || since.length === 0) return;
    slowTimer = setTimeout(
      () => {
        slowTimer = null;
        for (const viewer of viewers.values()) {
          if (now() - (viewer.behindSince() ?? now()) >= limits.slowMs) viewer.drop(live.lastSeq());
        }
        watchSlow();
      },
      Math.max(0, Math.min(...since) + limits.slowMs - now()),
    );
  };
  const broadcast = (frame: StreamFrame): void => {
    live.advance(frame);
    if (viewers.size === 0) return;
    const text = JSON.stringify(addCursor(frame, live.text()));
    const bytes = Buffer.byteLength(text);
    for (const viewer of viewers.values()) {
      viewer.offer(text, bytes, live.text());
      if (viewer.isLost()) viewer.drop(live.lastSeq());
      else if (viewer.behind() !== null) watchSlow();
    }
  };
  const pacer = createDeltaPacer(broadcast, now);

  const catchUp = (viewer: Viewer, cursor: Cursor): void => {
    pacer.flush(); // it gets the whole text so far, and nothing of it again
    if (viewer.catchUp(readBacklog({ log, stream, recent }, cursor.lastSeq()), cursor)) {
      viewer.post({ frame: 'ready', last_seq: log.lastSeq() });
    } else {
      watchSlow();
    }
  };
  const reply = (viewer: Viewer, id: string | null, failure: ErrorData | null): void => {
    const error = failure === null ? null : { code: failure.code, detail: failure.detail };
    viewer.post({ frame: 'reply', id, error });
    if (viewer.isLost()) viewer.drop(live.lastSeq());
  };
  const findStart = (query: URLSearchParams): Place | null => {
    const message = query.get('message');
    if (message === null) return parsePlace(query.get('after') ?? '0');
    const admitted = admissions.find(message);
    return { seq: admitted === null ? log.lastSeq() : admitted - 1, part: null };
  };
  const cancelFor = async (viewer: Viewer, request: { clear_inbox: boolean; turn: number | null }) => {
    const { by, cancel: mayCancel } = viewer.grant;
    if (!mayCancel) return missingScope('The API key lacks the scope sessions:write.').data;
    const { clear_inbox: clearInbox, turn } = request;
    const outcome = await cancel({ by, clearInbox, turn, idempotency: null });
    return outcome.ok ? null : outcome.error;
  };

  sockets.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, JSON.stringify({ frame: 'pong' })));
  // A socket that slept was live: while one is behind, the object does not sleep.
  for (const socket of sockets.getWebSockets()) {
    add(socket, socketGrant.safeParse(socket.deserializeAttachment()).data ?? NOBODY);
  }

  return {
    accept(request) {
      const start = findStart(new URL(request.url).searchParams);
      if (start === null) return new Response(null, { status: 400 });
      const grant = readGrant(request);
      const { 0: client, 1: server } = new WebSocketPair();
      sockets.acceptWebSocket(server);
      server.serializeAttachment(grant);
      pacer.flush();
      if (viewers.size === 0) live = findLive(log, stream);
      catchUp(add(server, grant), createCursor(start));
      return new Response(null, { status: 101, webSocket: client });
    },
    async receive(socket, message) {
      const viewer = viewers.get(socket);
      if (viewer === undefined) return;
      const request = parseRequest(message);
      switch (request.type) {
        case 'cancel':
          return reply(viewer, request.id, await cancelFor(viewer, request));
        case 'ack': {
          const cursor = viewer.acknowledge(request.n) ? viewer.behind() : null;
          return cursor === null ? undefined : catchUp(viewer, cursor);
        }
        case 'ping':
          return viewer.post({ frame: 'pong' });
        case 'invalid':
          return reply(viewer, request.id, invalidRequest(request.detail).data);
      }
    },
    publish(frame) {
      if (viewers.size > 0) pacer.push(frame);
    },
    publishCommitted(committed) {
      admissions.note(committed);
      recent = keepRecent(recent, committed);
      if (viewers.size === 0) return;
      pacer.flush();
      for (const entry of committed) for (const frame of toFrames(entry)) broadcast(frame);
    },
    forget: (socket) => viewers.delete(socket),
    closeAll(code, reason) {
      for (const socket of viewers.keys()) socket.close(code, reason);
      viewers.clear();
      if (slowTimer !== null) clearTimeout(slowTimer);
      slowTimer = null;
    },
  };
}

/** The end of the log, and of the answer in progress. */
function findLive(log: Log, stream: StreamBuffer): Cursor {
  const cursor = createCursor({ seq: log.lastSeq(), part: null });
  for (const frame of stream.soFar()) cursor.advance(frame);
  return cursor;
}

function readGrant(request: Request): SocketGrant {
  const header = request.headers.get(SOCKET_GRANT_HEADER);
  return header === null ? NOBODY : socketGrant.parse(JSON.parse(header));
}
