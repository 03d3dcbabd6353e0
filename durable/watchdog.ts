/**
 * The alarm that guards a turn. It is armed in the block of writes that admits the work, so there is no moment in
 * which work is durable and nothing would wake the object for it.
 */

/** A turn that an eviction cut off goes on within this time, with nobody connected. */
const WATCHDOG_MS = 3_000;
/** The longest pause before a driver is started again that could not write the log. */
const LONGEST_PAUSE_MS = 5 * 60_000;
/** Every limit inside a turn has fired long before: of a step's preparation, a model's silence, a tool. */
const STUCK_MS = 10 * 60_000;

export interface Watchdog {
  /** Arms it unless it is; a later attempt that waits comes forward. */
  arm: () => void;
  disarm: () => void;
  /** A turn waits for a person until then. */
  armAt: (time: number) => void;
  /** No alarm is stored any more: its handler runs, or the storage was cleared. */
  gone: () => void;
  /** The work could not go on: each time in a row, the next attempt comes after twice the pause. */
  retryLater: () => void;
  /** The work went on: the next failure is the first again. */
  succeeded: () => void;
}

export function createWatchdog(
  storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>,
  now: () => number,
): Watchdog {
  /** When the stored alarm fires; null where none is known. */
  let due: number | null = null;
  let failures = 0;
  // A failed alarm write breaks the output gate and restarts the object, so its promise says nothing more.
  const ignore = (): undefined => undefined;
  const set = (ms: number): void => {
    due = now() + ms;
    storage.setAlarm(due).catch(ignore);
  };
  return {
    arm() {
      if (due === null || due > now() + WATCHDOG_MS) set(WATCHDOG_MS);
    },
    disarm() {
      if (due === null) return;
      due = null;
      storage.deleteAlarm().catch(ignore);
    },
    armAt(time) {
      due = time;
      storage.setAlarm(time).catch(ignore);
    },
    gone() {
      due = null;
    },
    retryLater() {
      set(Math.min(WATCHDOG_MS * 2 ** failures, LONGEST_PAUSE_MS));
      failures++;
    },
    succeeded() {
      failures = 0;
    },
  };
}

/** Whether a running turn that moved last at `lastProgress` will never move again. Milliseconds. */
export function isStuck(lastProgress: number, now: number): boolean {
  return now - lastProgress > STUCK_MS;
}
