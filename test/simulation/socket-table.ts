/** The sockets that an object has accepted: they outlive its hibernation, and die with it. */
import type { Clock, Life } from './clock.ts';
import { breakOff, type Socket } from './sockets.ts';

export interface SocketTable {
  accept: (socket: Socket, life: Life, tags: string[]) => void;
  list: (tag?: string) => Socket[];
  tagsOf: (socket: Socket) => string[];
  /** What is answered without the object; nothing any more where absent. */
  setAutoResponse: (pair?: { request: string; response: string }) => void;
  /** All of them belong to another life of the object. */
  hold: (life: Life) => void;
  /** The object is gone, and their clients hear of it. */
  breakAll: () => void;
}

export interface SocketTablePorts {
  /** Behind the output gate of the life. */
  sendOut: (life: Life, send: () => void) => void;
  /** A client says something; a client has closed. */
  receive: (socket: Socket, text: string) => void;
  close: (socket: Socket, code: number, reason: string) => void;
}

const LATENCY_MS = 1;
/** RFC 6455: closed without a closing handshake. */
const ABNORMAL = 1006;

export function createSocketTable(clock: Clock, ports: SocketTablePorts): SocketTable {
  let entries: { socket: Socket; tags: string[] }[] = [];
  let autoResponse: { request: string; response: string } | null = null;
  const holdOne = (socket: Socket, life: Life): void => {
    socket.holder = life;
    socket.gate = (send) => ports.sendOut(life, send);
  };
  const receive = (socket: Socket, text: string): void => {
    if (autoResponse?.request !== text) {
      ports.receive(socket, text);
      return;
    }
    const { response } = autoResponse;
    clock.after(LATENCY_MS, null, () => socket.peer.deliver(response));
  };
  return {
    accept(socket, life, tags) {
      holdOne(socket, life);
      entries.push({ socket, tags });
      socket.onMessage = (text) => receive(socket, text);
      socket.onClose = (code, reason) => {
        entries = entries.filter((entry) => entry.socket !== socket);
        ports.close(socket, code, reason);
      };
    },
    list: (tag) =>
      entries
        .filter(({ socket, tags }) => !socket.isClosed && (tag === undefined || tags.includes(tag)))
        .map(({ socket }) => socket),
    tagsOf: (wanted) => entries.find(({ socket }) => socket === wanted)?.tags ?? [],
    setAutoResponse(pair) {
      autoResponse = pair ?? null;
    },
    hold(life) {
      for (const { socket } of entries) holdOne(socket, life);
    },
    breakAll() {
      for (const { socket } of entries) {
        socket.isClosed = true;
        clock.after(LATENCY_MS, null, () => breakOff(socket.peer, ABNORMAL, 'the object is gone'));
      }
      entries = [];
      autoResponse = null;
    },
  };
}
