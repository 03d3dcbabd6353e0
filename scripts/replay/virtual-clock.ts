/**
 * Time as the recording has it. Timers fire when nothing else can happen, in the order in which they are due: a limit
 * that was not reached is not reached again, and a pause costs nothing.
 */
import { setTimeout as pause, setImmediate as untilIdle } from 'node:timers/promises';
import { type Wait, waitWithTimer } from '../../durable/time-limit.ts';

/** Rounds of the event loop without any sign of work, and then this long: a plugin may be reading something. */
const QUIET_ROUNDS = 8;
const QUIET_MS = 50;

export interface ReplayClock {
  now: () => number;
  /** Moves on to a time of the recording; never back. */
  reach: (at: number) => void;
  wait: Wait;
  /** Something happened. */
  touch: () => void;
  /** Settles with the work. Throws where neither it nor a timer is left to happen. */
  settle: <T>(work: Promise<T>) => Promise<T>;
}

interface Timer {
  due: number;
  fire: () => void;
}

export function createVirtualClock(start: number): ReplayClock {
  let time = start;
  let signs = 0;
  const timers = new Set<Timer>();

  const fireNext = (): boolean => {
    const [next] = [...timers].sort((a, b) => a.due - b.due);
    if (!next) return false;
    timers.delete(next);
    time = Math.max(time, next.due);
    next.fire();
    return true;
  };
  return {
    now: () => time,
    reach(at) {
      time = Math.max(time, at);
    },
    wait(ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer: Timer = { due: time + ms, fire: resolve };
      timers.add(timer);
      signs++;
      return { done: promise, cancel: () => void timers.delete(timer) };
    },
    touch() {
      signs++;
    },
    async settle(work) {
      const state = { isDone: false };
      const done = work.finally(() => {
        state.isDone = true;
      });
      // Whoever awaits the result hears of a failure there.
      done.catch(() => undefined);
      for (let quiet = 0, seen = signs; !state.isDone; ) {
        await untilIdle();
        quiet = signs === seen ? quiet + 1 : 0;
        seen = signs;
        if (state.isDone || quiet < QUIET_ROUNDS) continue;
        await pause(QUIET_MS);
        if (state.isDone || signs !== seen) continue;
        if (!fireNext()) throw new Error('the replay does not go on: nothing is left that could happen');
        quiet = 0;
      }
      return done;
    },
  };
}

/** For models and tools that take their own time. */
export function createRealClock(start: number): ReplayClock {
  const began = Date.now();
  let offset = start - began;
  return {
    now: () => Date.now() + offset,
    reach(at) {
      offset = Math.max(offset, at - Date.now());
    },
    wait: waitWithTimer,
    touch: () => undefined,
    settle: (work) => work,
  };
}
