/**
 * What the platform does for one object: builds it when it is wanted, delivers requests, alarms and messages of
 * sockets, holds back what it sends until its writes are committed, and takes it away without warning.
 */
import type { Clock, Life } from './clock.ts';
import { createFaultPlan, type FaultPlan } from './faults.ts';
import { createSocketTable } from './socket-table.ts';
import type { Socket } from './sockets.ts';
import { createDisk, type Disk, LifeEnded, type StorageOfLife } from './storage.ts';

/** What this simulation calls of an object. */
export interface HostedObject {
  alarm: () => Promise<void>;
  fetch: (request: Request) => Promise<Response>;
  webSocketMessage: (socket: WebSocket, message: string) => void | Promise<void>;
  webSocketClose: (socket: WebSocket, code: number, reason: string, clean: boolean) => void | Promise<void>;
}

/** What an object is built with, in the platform's place. */
export interface ContextOfLife {
  storage: StorageOfLife;
  waitUntil: (work: Promise<unknown>) => void;
  abort: (reason?: string) => void;
  blockConcurrencyWhile: <T>(work: () => Promise<T>) => Promise<T>;
  acceptWebSocket: (socket: Socket, tags?: string[]) => void;
  getWebSockets: (tag?: string) => Socket[];
  getTags: (socket: Socket) => string[];
  setWebSocketAutoResponse: (pair?: { request: string; response: string }) => void;
  id: { toString: () => string; name: string };
}

/** An answer, a rejection, or a connection that was lost: then nobody knows what happened. */
export type Reply<T> = { kind: 'answer'; value: T } | { kind: 'failed'; error: unknown } | { kind: 'lost' };

export interface HostPorts<O extends HostedObject> {
  clock: Clock;
  build: (context: ContextOfLife, life: Life, host: Host<O>) => O;
  /** Something was committed, or an alarm was taken. */
  onCommit: (host: Host<O>) => void;
  onCrash: (host: Host<O>) => void;
  /** A stored alarm is due: before it is taken. */
  onAlarm: (host: Host<O>) => void;
}

export interface Host<O extends HostedObject> {
  readonly name: string;
  readonly disk: Disk;
  readonly faults: FaultPlan;
  life: () => Life | null;
  /** The running object, for looking at it between two jobs; null where it sleeps. */
  object: () => O | null;
  /** The handler of an alarm runs: the platform would run it again after a crash. */
  isAlarmHandled: () => boolean;
  request: <T>(work: (object: O) => Promise<T>, answer: (reply: Reply<T>) => void) => void;
  /** A call to the world outside, behind the output gate; it has no answer for a life that ended meanwhile. */
  reach: <T>(life: Life, ms: number, perform: () => T) => Promise<T>;
  /** Lets something out once what was written before it is committed. */
  sendOut: (life: Life, send: () => void) => void;
  crash: () => void;
  /** Hibernates the object where nothing of it is under way; sockets stay. */
  evict: () => boolean;
  /** Delivers the next alarm once more after it was handled. */
  repeatNextAlarm: () => void;
  settle: () => void;
  /** Whether nothing has gone wrong with it so far. */
  isUntouched: () => boolean;
}

const LATENCY_MS = 1;
/** The platform's first pause before it runs a failed alarm again. */
const ALARM_RETRY_MS = 2_000;

/** Nobody waits for it. */
const ignore = (): undefined => undefined;

interface Running<O> {
  life: Life;
  object: O | null;
  outbox: (() => void)[];
  lose: Set<() => void>;
}

export function createHost<O extends HostedObject>(name: string, ports: HostPorts<O>): Host<O> {
  const { clock } = ports;
  let running: Running<O> | null = null;
  let isAlarmHandled = false;
  let [repeats, ends] = [0, 0];
  let scheduled: number | null = null;
  const faults = createFaultPlan(clock, () => host.crash());
  const disk = createDisk(faults.onWrite, () => host.crash());
  const sockets = createSocketTable(clock, {
    sendOut: (life, send) => host.sendOut(life, send),
    receive: (socket, text) => enter((object) => void object.webSocketMessage(socket as never, text), ignore),
    close: (socket, code, reason) =>
      enter((object) => void object.webSocketClose(socket as never, code, reason, false), ignore),
  });

  const start = (): Running<O> => {
    if (running) return running;
    const life: Life = { object: name, alive: true, pending: 0 };
    const started: Running<O> = { life, object: null, outbox: [], lose: new Set() };
    running = started;
    sockets.hold(life);
    clock.after(0, life, () => {
      try {
        started.object = ports.build(createContext(life, disk.openFor(life)), life, host);
      } catch (error) {
        if (!(error instanceof LifeEnded)) host.crash();
      }
    });
    return started;
  };

  /** Runs as the object's own code, once it is built. */
  const enter = (run: (object: O, now: Running<O>) => void, lost: () => void): void => {
    const now = start();
    now.lose.add(lost);
    clock.after(0, now.life, () => {
      now.lose.delete(lost);
      if (now.object) run(now.object, now);
      else lost();
    });
  };

  const createContext = (life: Life, storage: StorageOfLife): ContextOfLife => ({
    storage,
    waitUntil(work) {
      life.pending++;
      const done = (): void => void life.pending--;
      work.then(done, done);
    },
    abort() {
      if (life.alive) host.crash();
      throw new LifeEnded(name);
    },
    blockConcurrencyWhile: (work) => work(),
    acceptWebSocket: (socket, tags = []) => sockets.accept(socket, life, tags),
    getWebSockets: sockets.list,
    getTags: sockets.tagsOf,
    setWebSocketAutoResponse: sockets.setAutoResponse,
    id: { toString: () => name, name },
  });

  const fireAlarm = (at: number): void => {
    if (disk.alarm() !== at || isAlarmHandled) return;
    ports.onAlarm(host);
    disk.setCommittedAlarm(null);
    scheduled = null;
    isAlarmHandled = true;
    runAlarm(() => {
      isAlarmHandled = false;
      ports.onCommit(host);
      if (repeats === 0) return;
      repeats--;
      clock.after(LATENCY_MS, null, () => runAlarm(() => undefined));
    });
  };
  const runAlarm = (done: () => void): void => {
    const failed = (): void => {
      const again = clock.now() + ALARM_RETRY_MS;
      disk.setCommittedAlarm(Math.min(disk.alarm() ?? again, again));
      followAlarm();
      done();
    };
    enter((object, { life, lose }) => {
      lose.add(failed);
      const end = (then: () => void): void =>
        host.sendOut(life, () => {
          lose.delete(failed);
          then();
        });
      object.alarm().then(
        () => end(done),
        () => end(failed),
      );
    }, failed);
  };
  const followAlarm = (): void => {
    const at = disk.alarm();
    if (at === scheduled) return;
    scheduled = at;
    if (at !== null) clock.after(at - clock.now(), null, () => fireAlarm(at));
  };

  /** The life ends; what it left undone is answered by nobody. */
  const end = (): void => {
    const ended = running;
    if (!ended) return;
    ended.life.alive = false;
    ended.outbox = [];
    running = null;
    for (const lose of [...ended.lose]) lose();
  };

  const host: Host<O> = {
    name,
    disk,
    faults,
    life: () => running?.life ?? null,
    object: () => running?.object ?? null,
    isAlarmHandled: () => isAlarmHandled,
    isUntouched: () => ends === 0 && !faults.hasActed(),
    request(work, answer) {
      const reply = (outcome: Reply<never>): void =>
        void clock.after(LATENCY_MS, null, () => answer(outcome));
      const lost = (): void => reply({ kind: 'lost' });
      clock.after(LATENCY_MS, null, () =>
        enter((object, { life, lose }) => {
          lose.add(lost);
          const finish = (outcome: Reply<never>): void =>
            host.sendOut(life, () => {
              lose.delete(lost);
              reply(outcome);
            });
          work(object).then(
            (value) => finish({ kind: 'answer', value: value as never }),
            (error: unknown) => finish({ kind: 'failed', error }),
          );
        }, lost),
      );
    },
    reach(life, ms, perform) {
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      life.pending++;
      host.sendOut(life, () => {
        clock.after(ms / 2, null, () => {
          let settle: () => void;
          try {
            const value = perform() as never;
            settle = () => resolve(value);
          } catch (error) {
            settle = () => reject(error);
          }
          clock.after(ms / 2, life, () => {
            life.pending--;
            settle();
          });
        });
      });
      return promise;
    },
    sendOut(life, send) {
      if (life.alive && running?.life === life) running.outbox.push(send);
    },
    crash() {
      if (!running) return;
      ends++;
      disk.rollback();
      sockets.breakAll();
      end();
      ports.onCrash(host);
    },
    evict() {
      if (!running || running.life.pending > 0 || running.lose.size > 0 || isAlarmHandled) return false;
      end();
      return true;
    },
    repeatNextAlarm: () => void repeats++,
    settle() {
      if (!running) return;
      if (disk.isDirty()) {
        if (faults.failsCommit()) {
          host.crash();
          return;
        }
        disk.commit();
        followAlarm();
        ports.onCommit(host);
      }
      const { outbox } = running;
      running.outbox = [];
      for (const send of outbox) send();
    },
  };
  return host;
}
