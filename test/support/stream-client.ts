/** A session's frames as a client gets them, by SSE and by socket. */
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import type { StreamFrame } from '../../durable/stream-cursor.ts';
import { parseFrame } from '../../worker/stream/frames.ts';
import { type ReceivedEvent, readEvents } from './http.ts';
import type { Perch } from './perch.ts';

const placed = z.looseObject({ seq: z.number(), turn: z.number().optional() });

/** The frame that an event of a stream was; null for a receipt and an error. */
export function toFrame({ event, id, data }: ReceivedEvent): Frame | null {
  const cursor = id === null ? {} : { cursor: id };
  if (event === 'receipt' || event === 'error') return null;
  if (['delta', 'restart', 'dropped'].includes(event)) {
    return { ...parseFrame(JSON.stringify({ frame: event, ...JSON.parse(data) })), ...cursor };
  }
  const { seq, turn = null } = placed.parse(JSON.parse(data));
  return { frame: 'event', seq, type: event, turn, data, ...cursor };
}

export function isStreamFrame(frame: Frame | null): frame is StreamFrame {
  return frame?.frame === 'event' || frame?.frame === 'delta' || frame?.frame === 'restart';
}

/** The frames of a response until `isEnough` says so, which leaves the stream, or until it ends. */
export async function readFrames(
  response: Response,
  isEnough: (frame: Frame, count: number) => boolean,
): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const event of readEvents(response)) {
    const frame = toFrame(event);
    if (frame === null) continue;
    frames.push(frame);
    if (isEnough(frame, frames.length)) break;
  }
  return frames;
}

export interface SocketClient {
  /** All that came, in order. */
  frames: Frame[];
  /** Resolves with the first frame that fits, come or still to come. */
  until: (fits: (frame: Frame) => boolean) => Promise<Frame>;
  say: (message: unknown) => void;
  closed: Promise<{ code: number; reason: string }>;
  close: () => void;
}

/** Opens `…/socket`. With `acks`, it answers probes as a client should. */
export async function openSocketClient(
  request: Perch['request'],
  session: string,
  { after = '0', acks = true }: { after?: string; acks?: boolean } = {},
): Promise<SocketClient> {
  const answer = await request('GET', `/v1/sessions/${session}/socket?after=${after}`, undefined, {
    upgrade: 'websocket',
  });
  const socket = answer.webSocket;
  if (socket === null) throw new Error(`no socket: ${answer.status} ${await answer.text()}`);
  return listen(socket, acks);
}

export function listen(socket: WebSocket, acks: boolean): SocketClient {
  const frames: Frame[] = [];
  const waiting: { fits: (frame: Frame) => boolean; resolve: (frame: Frame) => void }[] = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  const say = (message: unknown): void =>
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  socket.addEventListener('message', ({ data }) => {
    const frame = parseFrame(String(data));
    frames.push(frame);
    if (frame.frame === 'probe' && acks && socket.readyState === WebSocket.OPEN)
      say({ type: 'ack', n: frame.n });
    for (const { fits, resolve } of waiting) if (fits(frame)) resolve(frame);
  });
  socket.addEventListener('close', ({ code, reason }) => closed.resolve({ code, reason }));
  socket.accept();
  return {
    frames,
    until(fits) {
      const known = frames.find(fits);
      const { promise, resolve } = Promise.withResolvers<Frame>();
      if (known === undefined) waiting.push({ fits, resolve });
      else resolve(known);
      return promise;
    },
    say,
    closed: closed.promise,
    close: () => socket.close(1000, 'done'),
  };
}
