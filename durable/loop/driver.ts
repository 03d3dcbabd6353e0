/**
 * Drives a session: one turn after the other for as long as something in the inbox wakes it. There is one driver an
 * object, and it answers to nobody's connection: clients come and go, the turn goes on.
 */
import type { LoopPorts } from './ports.ts';
import { resumeTurn, startTurn } from './turn.ts';

export interface Driver {
  /** Starts the loop unless it runs. What was admitted before the call is taken for certain. */
  wake: () => Promise<void>;
  isRunning: () => boolean;
  /** Resolves when no turn runs any more. */
  settled: () => Promise<void>;
  /** Stops the running turn; false where none runs. */
  cancel: (by: string) => boolean;
  /** When the loop last got anywhere: passed a point, or heard from a model. Milliseconds since the epoch. */
  lastProgress: () => number;
}

/** Why a turn's signal fired. */
export class TurnCancelled extends Error {
  readonly by: string;
  constructor(by: string) {
    super(`cancelled by ${by}`);
    this.name = 'TurnCancelled';
    this.by = by;
  }
}

export function createDriver(given: LoopPorts): Driver {
  let progressAt = given.now();
  const ports: LoopPorts = {
    ...given,
    faults: {
      hit(point) {
        progressAt = given.now();
        return given.faults.hit(point);
      },
    },
    publish(frame) {
      progressAt = given.now();
      given.publish(frame);
    },
  };
  let running: Promise<void> | null = null;
  let turn: AbortController | null = null;

  async function runOne(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    turn = new AbortController();
    try {
      await run(turn.signal);
    } finally {
      turn = null;
    }
  }

  async function drive(): Promise<void> {
    try {
      if (ports.turn()) await runOne((signal) => resumeTurn(ports, signal));
      while (ports.inbox.wakes()) await runOne((signal) => startTurn(ports, signal));
      // From the check to here nothing awaits, so a message that comes now finds the loop stopped and wakes it.
      running = null;
      ports.watchdog.disarm();
    } catch (error) {
      // The log could not take the turn's end. The watchdog stays armed and tries again.
      running = null;
      ports.reportFailure(error);
    }
  }

  return {
    wake() {
      if (!running) {
        ports.watchdog.arm();
        running = drive();
      }
      return running;
    },
    isRunning: () => running !== null,
    lastProgress: () => progressAt,
    settled: () => running ?? Promise.resolve(),
    cancel(by) {
      if (!turn || turn.signal.aborted) return false;
      turn.abort(new TurnCancelled(by));
      return true;
    },
  };
}
