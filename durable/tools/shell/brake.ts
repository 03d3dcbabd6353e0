/**
 * How a script is ended from outside without losing what it printed. The shell drops all output when its signal fires
 * or its file system throws at a redirect, and keeps it when a limit is exceeded: so whoever wants the script to end
 * pulls the brake, and the next command that starts, or the one that runs, exceeds a limit.
 */

/** Stands in the shell's message about a script that was ended. */
export const BRAKE_NAME = 'brake';

export type Stop = { kind: 'time' } | { kind: 'cancelled' } | { kind: 'refused'; message: string };

export interface Brake {
  /** Why the script has to end; null while it may go on. */
  stop: Stop | null;
  /** Commands that run now, one inside the other: 0 while the shell itself is at work. */
  running: number;
  /** Fires when the brake is pulled: what waits does not wait on. */
  pulled: AbortSignal;
  /** The first reason stays. */
  pull: (stop: Stop) => void;
}

export function createBrake(): Brake {
  const controller = new AbortController();
  const brake: Brake = {
    stop: null,
    running: 0,
    pulled: controller.signal,
    pull(stop) {
      brake.stop ??= stop;
      controller.abort();
    },
  };
  return brake;
}
