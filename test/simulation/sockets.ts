/** Sockets as the platform gives them: what is sent arrives in order, after the commit before it, until the close. */
import type { Clock, Life } from './clock.ts';

export interface Socket {
  readonly side: 'client' | 'server';
  /** The life that holds the server's side; another one after a hibernation, null once it is closed. */
  holder: Life | null;
  /** How the server's side lets out what it sends: behind the output gate of its object. */
  gate: ((send: () => void) => void) | null;
  /** What comes before anybody listens waits. */
  onMessage: ((text: string) => void) | null;
  deliver: (text: string) => void;
  onClose: ((code: number, reason: string) => void) | null;
  isClosed: boolean;
  peer: Socket;
  send: (text: string) => void;
  close: (code?: number, reason?: string) => void;
  serializeAttachment: (value: unknown) => void;
  deserializeAttachment: () => unknown;
  accept: () => void;
  readyState: number;
}

/** A way through the net takes this long. */
const LATENCY_MS = 1;

export function createSocketPair(clock: Clock): { 0: Socket; 1: Socket } {
  const client = createSocket('client', clock);
  const server = createSocket('server', clock);
  client.peer = server;
  server.peer = client;
  return { 0: client, 1: server };
}

function createSocket(side: Socket['side'], clock: Clock): Socket {
  let attachment = 'null';
  let listener: Socket['onMessage'] = null;
  let waiting: string[] = [];
  const socket: Socket = {
    side,
    holder: null,
    gate: null,
    get onMessage() {
      return listener;
    },
    set onMessage(to) {
      listener = to;
      const held = waiting;
      waiting = [];
      if (to) for (const text of held) to(text);
    },
    deliver(text) {
      if (socket.isClosed) return;
      if (listener) listener(text);
      else waiting.push(text);
    },
    onClose: null,
    isClosed: false,
    readyState: 1,
    get peer(): Socket {
      throw new Error('a socket without its other side');
    },
    set peer(peer: Socket) {
      Object.defineProperty(socket, 'peer', { value: peer });
    },
    send(text) {
      if (socket.isClosed) throw new TypeError("can't call send() after close()");
      const deliver = (): void => {
        clock.after(LATENCY_MS, null, () => socket.peer.deliver(text));
      };
      if (socket.gate) socket.gate(deliver);
      else deliver();
    },
    close(code = 1000, reason = '') {
      if (socket.isClosed) return;
      socket.isClosed = true;
      socket.readyState = 3;
      const deliver = (): void => {
        clock.after(LATENCY_MS, null, () => breakOff(socket.peer, code, reason));
      };
      if (socket.gate) socket.gate(deliver);
      else deliver();
    },
    serializeAttachment(value) {
      attachment = JSON.stringify(value ?? null);
    },
    deserializeAttachment: () => JSON.parse(attachment),
    accept: () => undefined,
  };
  return socket;
}

/** The connection is gone: this side hears of it. */
export function breakOff(socket: Socket, code: number, reason: string): void {
  if (socket.isClosed) return;
  socket.isClosed = true;
  socket.readyState = 3;
  socket.onClose?.(code, reason);
}
