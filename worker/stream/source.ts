/** The two ways in which frames come from a session object: pages of its log, and a socket. */
import { z } from 'zod';
import { unavailable } from '../../durable/errors.ts';
import { type Frame, type SessionRpc, SOCKET_GRANT_HEADER, type SocketGrant } from '../../durable/rpc.ts';
import { formatPlace, type Place, restartAfter, type StreamFrame } from '../../durable/stream-cursor.ts';
import { createSessionNotFound, reachObject, readOutcome } from '../http/index.ts';
import { parseFrame } from './frames.ts';

/** Where to begin: at a place, or at a message's admission, known or still to come. */
export type FeedStart = { after: Place } | { message: string };

export interface SocketReader {
  receive: (from: WebSocket, frame: Frame, units: number) => void;
  /** It closed or failed. */
  lose: (from: WebSocket) => void;
}

const PAGE_EVENTS = 200;
const WORKER_GRANT = JSON.stringify({ by: 'worker', cancel: false, trusted: true } satisfies SocketGrant);
const logPage = z.object({
  data: z.array(
    z.looseObject({
      seq: z.number(),
      type: z.string(),
      turn: z.number().optional(),
      step: z.number().optional(),
      attempt: z.number().optional(),
    }),
  ),
  next: z.number().nullable(),
});

/** Up to 200 events of the log as frames, and whether there are more. Throws the object's error. */
export async function readPage(
  session: Pick<SessionRpc, 'events'>,
  after: number,
): Promise<{ frames: StreamFrame[]; more: boolean }> {
  const text = await readOutcome(session.events({ after, limit: PAGE_EVENTS, types: null }));
  const { data, next } = logPage.parse(JSON.parse(text));
  const frames = data.flatMap((event): StreamFrame[] => {
    const { seq, type, turn = null } = event;
    const restart = restartAfter(event);
    const frame = { frame: 'event' as const, seq, type, turn, data: JSON.stringify(event) };
    return restart === null ? [frame] : [frame, restart];
  });
  return { frames, more: next !== null };
}

/** A socket that begins with `accept()`. Throws `session_not_found`, and `unavailable` where there is none to be had. */
export async function openSocket(
  session: Pick<SessionRpc, 'fetch'>,
  start: FeedStart,
  reader: SocketReader,
): Promise<WebSocket> {
  const from: Record<string, string> =
    'after' in start ? { after: formatPlace(start.after) } : { message: start.message };
  const url = `https://session/socket?${new URLSearchParams(from)}`;
  const headers = { upgrade: 'websocket', [SOCKET_GRANT_HEADER]: WORKER_GRANT };
  const response = await reachObject(session.fetch(new Request(url, { headers })));
  const socket = response.webSocket;
  if (socket === null) {
    throw response.status === 404 ? createSessionNotFound() : unavailable('The session opens no stream.');
  }
  socket.addEventListener('message', ({ data }) => {
    const text = String(data);
    reader.receive(socket, parseFrame(text), text.length);
  });
  socket.addEventListener('close', () => reader.lose(socket));
  socket.addEventListener('error', () => reader.lose(socket));
  return socket;
}
