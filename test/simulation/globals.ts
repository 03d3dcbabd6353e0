/**
 * What the service's code takes from its platform without being given it: timers, the clock, randomness, sockets.
 * While a simulation runs, all of them are the simulation's.
 */
import type { Clock } from './clock.ts';
import { createSocketPair, type Socket } from './sockets.ts';

/** A response may carry a socket here, and have the status of an upgrade, which Node's own refuses. */
class UpgradableResponse extends Response {
  override readonly webSocket: never;
  readonly #status: number | undefined;
  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    const isUpgrade = init.status === 101;
    super(body, isUpgrade ? { ...init, status: 200 } : init);
    this.#status = init.status;
    this.webSocket = (init.webSocket ?? null) as never;
  }
  override get status(): number {
    return this.#status ?? super.status;
  }
}

export function takeSocket(response: Response): Socket | null {
  return response.webSocket as never;
}

/** Puts the simulation's globals in place; returns the function that takes them away again. */
export function installGlobals(
  clock: Clock,
  random: () => number,
  report: (line: string) => void,
): () => void {
  let ids = 0;
  const replaced = {
    setTimeout: (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const owner = clock.current();
      // Code of a life that has ended gets no more timers.
      if (owner !== null && !owner.alive) return { cancel: () => undefined };
      return clock.after(ms, owner, () => run(...given));
    },
    clearTimeout: (handle: { cancel?: () => void } | undefined | null) => handle?.cancel?.(),
    Response: UpgradableResponse,
    WebSocketPair: class {
      readonly 0: Socket;
      readonly 1: Socket;
      constructor() {
        ({ 0: this[0], 1: this[1] } = createSocketPair(clock));
      }
    },
    WebSocketRequestResponsePair: class {
      readonly request: string;
      readonly response: string;
      constructor(request: string, response: string) {
        this.request = request;
        this.response = response;
      }
    },
  };
  const undo = [
    replace(globalThis, replaced),
    replace(Date, { now: () => Math.floor(clock.now()) }),
    replace(Math, { random }),
    replace(crypto, {
      randomUUID: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
    }),
    replace(performance, { now: () => clock.now() }),
    replace(console, { log: () => undefined, error: report, warn: report }),
  ];
  return () => {
    for (const restore of undo.reverse()) restore();
  };
}

function replace(target: object, members: Record<string, unknown>): () => void {
  const undo: (() => void)[] = [];
  for (const [name, value] of Object.entries(members)) {
    const before = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    undo.push(() => {
      if (before) Object.defineProperty(target, name, before);
      else Reflect.deleteProperty(target, name);
    });
  }
  return () => {
    for (const restore of undo.reverse()) restore();
  };
}
