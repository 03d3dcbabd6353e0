/** Holds sessions at a fault point, or kills them there. */
import { abortAllDurableObjects } from 'cloudflare:test';
import { clearFaults, planFaults } from './faults.ts';

const MOST_POLLS = 500;

export interface Hold {
  /** Resolves when a session stands at the point. */
  reached: () => Promise<void>;
  /** Lets it go on. Those that come there later were never held. */
  release: () => void;
}

/**
 * From now on, the first to come to the point stands there. Waiting is polling, because a promise that one object
 * settles for another request is none of the platform's.
 */
export function holdAt(point: string): Hold {
  let isHeld = true;
  let isReached = false;
  planFaults(async (passed) => {
    if (passed !== point || isReached) return;
    isReached = true;
    while (isHeld) await scheduler.wait(2);
  });
  return {
    async reached() {
      for (let polls = 0; !isReached; polls++) {
        if (polls > MOST_POLLS) throw new Error(`nobody came to ${point}`);
        await scheduler.wait(2);
      }
    },
    release() {
      isHeld = false;
    },
  };
}

/** Runs `work` until a session comes to the point, and kills all objects there. Returns once they are gone. */
export async function killAt(point: string, work: () => Promise<unknown>): Promise<void> {
  let isReached = false;
  planFaults((passed): void | Promise<void> => {
    if (passed !== point) return;
    isReached = true;
    return new Promise<void>(() => undefined);
  });
  // Its request dies with the object.
  const done = work().catch(() => undefined);
  for (let polls = 0; !isReached; polls++) {
    if (polls > MOST_POLLS) throw new Error(`nobody came to ${point}`);
    await scheduler.wait(2);
  }
  clearFaults();
  await abortAllDurableObjects();
  await done;
}
