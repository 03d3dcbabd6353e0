/**
 * Who listens to a session: hibernating sockets, held by the worker for SSE and for reply streams. A socket gets the
 * backlog that it asked for, the text of the answer in progress, `ready`, and from then on what happens. It keeps
 * nobody awake.
 */
import { z } from 'zod';
import { createDeltaPacer } from './delta-pacer.ts';
import { createAdmissions } from './inbox/index.ts';
import type { Frame } from './rpc.ts';
import type { Committed, DeltaFrame, Log, StreamBuffer } from './transcript/index.ts';

/** Events read at once for a backlog: bounds the memory of one catch-up. */
const BACKLOG_PAGE = 500;
/** Events kept: the first step of a turn with its injections, and more. */
const RECENT_EVENTS = 32;
const RECENT_CHARS = 32_768;

export interface Subscribers {
  /** Answers an upgrade. Query: `after=<seq>`, or `message=<id>`. */
  accept: (request: Request) => Response;
  /** Text of an answer in progress, paced. */
  publish: (frame: DeltaFrame) => void;
  publishCommitted: (committed: Committed[]) => void;
  forget: (socket: WebSocket) => void;
  closeAll: (code: number, reason: string) => void;
}

export function createSubscribers(ctx: DurableObjectState, log: Log, stream: StreamBuffer): Subscribers {
  const sockets = new Set(ctx.getWebSockets());
  const admissions = createAdmissions(log, Date.now);
  /** The newest events: a reply stream is opened right after its admission, and wants these. */
  let recent: Committed[] = [];

  const send = (socket: WebSocket, text: string): void => {
    try {
      socket.send(text);
    } catch {
      // Closed under us: its close handler may still be on its way.
      sockets.delete(socket);
    }
  };
  const broadcast = (text: string): void => {
    for (const socket of sockets) send(socket, text);
  };
  const sendBacklog = (socket: WebSocket, after: number): void => {
    const first = recent[0];
    const isRecent = first !== undefined && after >= first.event.seq - 1;
    if (isRecent) {
      for (const entry of recent) if (entry.event.seq > after) send(socket, toFrame(entry));
    }
    for (let at: number | null = isRecent || after >= log.lastSeq() ? null : after; at !== null; ) {
      const { events, next } = log.page({ after: at, limit: BACKLOG_PAGE, types: null });
      for (const json of events) send(socket, toEventFrame(placed.parse(JSON.parse(json)), json));
      at = next;
    }
    for (const frame of stream.soFar()) send(socket, JSON.stringify(frame));
    send(socket, JSON.stringify({ frame: 'ready', last_seq: log.lastSeq() } satisfies Frame));
  };

  const pacer = createDeltaPacer((frame) => broadcast(JSON.stringify(frame)), Date.now);

  return {
    accept(request) {
      pacer.flush(); // the newcomer gets the whole text so far, and nothing of it again
      const query = new URL(request.url).searchParams;
      const message = query.get('message');
      const admitted = message === null ? null : admissions.find(message);
      const end = log.lastSeq();
      const after =
        admitted !== null ? admitted - 1 : message !== null ? end : Number(query.get('after') ?? '0');
      const { 0: client, 1: server } = new WebSocketPair();
      ctx.acceptWebSocket(server);
      sockets.add(server);
      sendBacklog(server, after);
      return new Response(null, { status: 101, webSocket: client });
    },
    publish(frame) {
      if (sockets.size > 0) pacer.push(frame);
    },
    publishCommitted(committed) {
      admissions.note(committed);
      recent = keepRecent(recent, committed);
      if (sockets.size === 0) return;
      pacer.flush();
      for (const entry of committed) broadcast(toFrame(entry));
    },
    forget: (socket) => sockets.delete(socket),
    closeAll(code, reason) {
      for (const socket of sockets) socket.close(code, reason);
      sockets.clear();
    },
  };
}

/** Without a gap, so a long event ends what is kept: it is read from the log when it is wanted. */
function keepRecent(recent: readonly Committed[], coming: readonly Committed[]): Committed[] {
  const all = [...recent, ...coming];
  const long = all.findLastIndex(({ json }) => json.length > RECENT_CHARS);
  return all.slice(Math.max(long + 1, all.length - RECENT_EVENTS));
}

function toFrame({ event, json }: Committed): string {
  const { seq, type } = event;
  return toEventFrame({ seq, type, turn: 'turn' in event ? event.turn : null }, json);
}

const placed = z.object({ seq: z.number(), type: z.string(), turn: z.number().optional() });

function toEventFrame(
  { seq, type, turn = null }: { seq: number; type: string; turn?: number | null | undefined },
  data: string,
): string {
  return JSON.stringify({ frame: 'event', seq, type, turn, data } satisfies Frame);
}
