/**
 * Drives a session: one turn after the other for as long as something in the inbox wakes it. There is one driver an
 * object, and it answers to nobody's connection: clients come and go, the turn goes on.
 */
import { nextAction } from '../transcript/index.ts';
import type { LoopPorts } from './ports.ts';
import type { Left } from './recovery.ts';
import { isParked, resumeTurn, startTurn } from './turn.ts';

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
  /** The newest turn that this life of the object has worked on. */
  let driven = 0;
  let lastLeft: Left = 'restarted';

  async function runOne(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    turn = new AbortController();
    try {
      await run(turn.signal);
    } finally {
      turn = null;
    }
  }

  /** Nothing runs: the next alarm, if any, is the one at which a person's time to decide is over. */
  function rest(): void {
    const open = ports.turn();
    const action = open && nextAction(open);
    if (action?.kind === 'wait' && action.until !== null) ports.watchdog.armAt(action.until);
    else ports.watchdog.disarm();
  }

  async function drive(): Promise<void> {
    try {
      for (let open = ports.turn(); open ? !isParked(ports) : ports.inbox.wakes(); open = ports.turn()) {
        const left = open?.turn === driven ? lastLeft : 'restarted';
        driven = open?.turn ?? ports.state.read().turns + 1;
        lastLeft = 'failed';
        await runOne((signal) => (open ? resumeTurn(ports, signal, left) : startTurn(ports, signal)));
        lastLeft = 'parked';
      }
      // From the check to here nothing awaits, so a message that comes now finds the loop stopped and wakes it.
      running = null;
      rest();
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
