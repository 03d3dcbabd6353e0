/** The two ways in which frames come from a session object: pages of its log, and a socket. */
import { z } from 'zod';
import { unavailable } from '../../durable/errors.ts';
import type { Frame, SessionRpc } from '../../durable/rpc.ts';
import { createSessionNotFound, reachObject, readOutcome } from '../http/index.ts';
import { type EventFrame, parseFrame } from './frames.ts';

/** Where to begin: behind an event, or at a message's admission, known or still to come. */
export type FeedStart = { after: number } | { message: string };

export interface SocketReader {
  receive: (from: WebSocket, frame: Frame, units: number) => void;
  /** It closed or failed. */
  lose: (from: WebSocket) => void;
}

const PAGE_EVENTS = 200;
const logPage = z.object({
  data: z.array(z.looseObject({ seq: z.number(), type: z.string(), turn: z.number().optional() })),
  next: z.number().nullable(),
});

/** Up to 200 events of the log as frames, and whether there are more. Throws the object's error. */
export async function readPage(
  session: Pick<SessionRpc, 'events'>,
  after: number,
): Promise<{ frames: EventFrame[]; more: boolean }> {
  const text = await readOutcome(session.events({ after, limit: PAGE_EVENTS, types: null }));
  const { data, next } = logPage.parse(JSON.parse(text));
  const frames = data.map((event): EventFrame => {
    const { seq, type, turn = null } = event;
    return { frame: 'event', seq, type, turn, data: JSON.stringify(event) };
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
    'after' in start ? { after: String(start.after) } : { message: start.message };
  const url = `https://session/socket?${new URLSearchParams(from)}`;
  const response = await reachObject(session.fetch(new Request(url, { headers: { upgrade: 'websocket' } })));
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
