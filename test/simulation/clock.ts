/**
 * The simulation's time: no real time passes. What is due runs in order, one job after the other, each with all the
 * promises that it settles; then the next. A job belongs to a life of an object, or to the world outside: what belongs
 * to a life that has ended never runs.
 */
import { setImmediate as untilIdle } from 'node:timers/promises';

/** One life of an object, from its construction to its end. */
export interface Life {
  readonly object: string;
  alive: boolean;
  /** Jobs that wait for it: an object with one is not idle. */
  pending: number;
}

export interface Handle {
  cancel: () => void;
}

interface Job {
  at: number;
  order: number;
  owner: Life | null;
  run: () => void;
  cancelled: boolean;
}

export interface Clock {
  now: () => number;
  /** Whose code runs: everything until the next job is that life's. */
  current: () => Life | null;
  after: (ms: number, owner: Life | null, run: () => void) => Handle;
  /** Runs the next job and all that follows from it at once; false where there is none before `until`. */
  step: (until: number) => Promise<boolean>;
  /** When the next job is due; null where nothing waits. */
  nextAt: () => number | null;
}

/** `settle` is called after each job: commits what it wrote and lets out what it sent. */
export function createClock(start: number, settle: () => void): Clock {
  const heap: Job[] = [];
  let time = start;
  let order = 0;
  let current: Life | null = null;

  const isDead = (job: Job): boolean => job.cancelled || (job.owner !== null && !job.owner.alive);
  const dropDead = (): void => {
    for (let first = heap[0]; first !== undefined && isDead(first); first = heap[0]) pop(heap);
  };
  return {
    now: () => time,
    current: () => current,
    after(ms, owner, run) {
      const job: Job = { at: time + Math.max(0, ms), order: order++, owner, run, cancelled: false };
      if (owner !== null) owner.pending++;
      push(heap, job);
      return {
        cancel() {
          if (job.cancelled) return;
          job.cancelled = true;
          if (owner !== null) owner.pending--;
        },
      };
    },
    async step(until) {
      dropDead();
      const next = heap[0];
      if (next === undefined || next.at > until) return false;
      pop(heap);
      time = Math.max(time, next.at);
      current = next.owner;
      next.cancelled = true;
      if (next.owner !== null) next.owner.pending--;
      next.run();
      // Promises, ticks and streams of this job have all run before the event loop turns.
      await untilIdle();
      settle();
      current = null;
      return true;
    },
    nextAt() {
      dropDead();
      return heap[0]?.at ?? null;
    },
  };
}

function isBefore(a: Job, b: Job): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Job[], job: Job): void {
  let at = heap.length;
  heap.push(job);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(job, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = job;
}

function pop(heap: Job[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    const left = heap[below];
    if (left === undefined) break;
    const right = heap[below + 1];
    if (right !== undefined && isBefore(right, left)) below++;
    const child = heap[below];
    if (child === undefined || !isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
