/**
 * The alarm that guards a turn. It is armed in the block of writes that admits the work, so there is no moment in
 * which work is durable and nothing would wake the object for it.
 */

/** A turn that an eviction cut off goes on within this time, with nobody connected. */
const WATCHDOG_MS = 3_000;

export interface Watchdog {
  /** Arms it unless it is. */
  arm: () => void;
  disarm: () => void;
  /** The alarm's handler runs: the stored alarm is gone. */
  fired: () => void;
}

export function createWatchdog(
  storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>,
  now: () => number,
): Watchdog {
  let armed = false;
  // A failed alarm write breaks the output gate and restarts the object, so its promise says nothing more.
  const ignore = (): undefined => undefined;
  return {
    arm() {
      if (armed) return;
      armed = true;
      storage.setAlarm(now() + WATCHDOG_MS).catch(ignore);
    },
    disarm() {
      if (!armed) return;
      armed = false;
      storage.deleteAlarm().catch(ignore);
    },
    fired() {
      armed = false;
    },
  };
}
