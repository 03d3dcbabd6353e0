/**
 * A viewer of a session, by server-sent events or by socket: it keeps what comes with the moment at which it came, and
 * looks at it when all is over, so that two hundred of them leave the machine to the service.
 */
import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as startRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { nowMs } from './clock.ts';
import { createFrameReader, formatClientText } from './socket-frames.ts';

export type Way = 'sse' | 'socket';

export interface Viewer {
  /** All that came: the text of the stream, or the socket's messages, each with a line feed behind it. */
  text: () => string;
  /** When the newest piece came; `nowMs()`. */
  lastAt: () => number;
  /** Resolves when a piece came that holds `mark`. Rejects where the stream ends before. */
  until: (mark: string) => Promise<void>;
  leave: () => void;
}

export interface Watched {
  url: string;
  headers: Record<string, string>;
  session: string;
  /** A cursor. */
  after: string;
}

/** Resolves when the service has answered: what is logged from here on reaches the viewer. */
export async function watch(way: Way, watched: Watched): Promise<Viewer> {
  return way === 'sse' ? watchEvents(watched) : watchSocket(watched);
}

async function watchEvents({ url, headers, session, after }: Watched): Promise<Viewer> {
  const path = `${url}/v1/sessions/${session}/events?after=${after}`;
  const asked = startRequest(path, { headers: { ...headers, accept: 'text/event-stream' }, agent: false });
  const answered = Promise.withResolvers<IncomingMessage>();
  asked.on('response', answered.resolve).on('error', answered.reject);
  asked.end();
  const response = await answered.promise;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  const { viewer, take, end } = createViewer(() => response.destroy());
  response.on('data', (bytes: Uint8Array) => take(Buffer.from(bytes)));
  response.on('close', end).on('error', end);
  return viewer;
}

async function watchSocket({ url, headers, session, after }: Watched): Promise<Viewer> {
  const path = `${url}/v1/sessions/${session}/socket?after=${after}`;
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
  };
  const asked = startRequest(path, { headers: { ...headers, ...upgrade }, agent: false });
  const opened = Promise.withResolvers<{ socket: Duplex; head: Buffer }>();
  asked.on('upgrade', (_, socket, head) => opened.resolve({ socket, head }));
  asked.on('response', ({ statusCode }) => opened.reject(new Error(`${path}: ${statusCode}`)));
  asked.on('error', opened.reject);
  asked.end();
  const { socket, head } = await opened.promise;
  const { viewer, take, end } = createViewer(() => socket.destroy());
  const read = createFrameReader((message) => {
    take(message);
    take(LINE_FEED);
    if (message.includes('"frame":"probe"')) socket.write(formatClientText(acknowledge(message)));
  });
  read(head);
  socket.on('data', read);
  socket.on('close', end).on('error', end);
  return viewer;
}

const LINE_FEED = Buffer.from('\n');

function acknowledge(probe: Buffer): string {
  const { n }: { n: number } = JSON.parse(probe.toString('utf8'));
  return JSON.stringify({ type: 'ack', n });
}

function createViewer(leave: () => void) {
  const pieces: Buffer[] = [];
  let lastAt = 0;
  let waiting: { mark: string; seen: string; found: () => void; fail: (error: Error) => void } | null = null;

  const look = (piece: Buffer): void => {
    if (waiting === null) return;
    const { mark, seen, found } = waiting;
    const text = seen + piece.toString('latin1');
    // A mark may come in two pieces.
    waiting.seen = text.slice(-mark.length);
    if (text.includes(mark)) found();
  };
  const viewer: Viewer = {
    text: () => Buffer.concat(pieces).toString('utf8'),
    lastAt: () => lastAt,
    until(mark) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting = { mark, seen: '', found: resolve, fail: reject };
      look(Buffer.concat(pieces));
      return promise;
    },
    leave,
  };
  return {
    viewer,
    take(piece: Buffer) {
      lastAt = nowMs();
      pieces.push(piece);
      look(piece);
    },
    end: () => waiting?.fail(new Error('the stream ended too early')),
  };
}
