/** The inputs of a replay as a script: what is due, given how far the new log has come. */
import type { LogEvent } from '../../durable/transcript/index.ts';
import { createLossFilter, nameAgain, placeOf, turnOf } from './log-places.ts';
import type { Input, Moment, Schedule } from './schedule.ts';

/** What the running session is at. */
export interface Standing {
  /** The fault point that is passed; null between turns. */
  point: string | null;
  openTurn: number | null;
  /** Whether nothing waits: a turn that begins so has nothing to prepare a step with. */
  isEmpty: boolean;
}

export interface Script {
  /** Takes in an event of the new log. Returns when what follows it in the recording happened; 0 where nobody knows. */
  note: (event: LogEvent) => number;
  /** The next input, where its place is reached. */
  takeDue: (standing: Standing) => Input | null;
  /** The next input, wherever its place is. */
  takeNext: () => Input | null;
  /** The work is done that this turn's cancel stopped: it comes when all before it has come. False where there is none. */
  releaseCancel: (turn: number) => boolean;
  /** The cancel of this turn, before whatever else: what else came was logged after it had its effect. */
  takeCancelAlone: (turn: number) => Input | null;
  /** The cancel of this turn with all that comes before it; nothing where it has come or was never. */
  takeCancel: (turn: number) => Input[];
}

export function createScript({ inputs: planned, times }: Schedule): Script {
  const inputs = [...planned];
  const filter = createLossFilter();
  const reached = new Set<string>();
  let lastEnded = 0;

  const isDue = (input: Input, { point, openTurn, isEmpty }: Standing): boolean => {
    // A turn that ended without coming by the place never will.
    const turn = turnOf(input.after);
    if (!reached.has(input.after)) return turn > 0 && turn <= lastEnded;
    if (input.kind === 'cancel' && openTurn !== input.turn) return true;
    if (input.moment === 'preparing' && point === 'turn.started' && isEmpty) return true;
    return isMoment(input.moment, point);
  };
  const findCancel = (turn: number): number =>
    inputs.findIndex((input) => input.kind === 'cancel' && input.turn === turn);
  return {
    note(event) {
      const kept = filter(event);
      if (!kept && event.type === 'request/attempt') reached.add(nameAgain(event));
      const place = kept && placeOf(kept);
      if (place === null) return 0;
      reached.add(place);
      if (event.type === 'turn/end') lastEnded = Math.max(lastEnded, event.turn);
      return times.get(place) ?? 0;
    },
    takeDue(standing) {
      const [next] = inputs;
      if (!next || !isDue(next, standing)) return null;
      inputs.shift();
      return next;
    },
    takeNext: () => inputs.shift() ?? null,
    releaseCancel(turn) {
      const at = findCancel(turn);
      const cancel = inputs[at];
      if (cancel) inputs[at] = { ...cancel, moment: 'place' };
      return cancel !== undefined;
    },
    takeCancelAlone(turn) {
      const at = findCancel(turn);
      return at < 0 ? null : (inputs.splice(at, 1)[0] ?? null);
    },
    takeCancel(turn) {
      const at = findCancel(turn);
      return at < 0 ? [] : inputs.splice(0, at + 1);
    },
  };
}

/** The points of the loop at which a moment has come. What did not come before the turn ends comes then. */
function isMoment(moment: Moment, point: string | null): boolean {
  switch (moment) {
    case 'place':
      return true;
    case 'starting':
      return point === 'turn.starting';
    case 'preparing':
      return point === 'step.skills' || point === 'turn.ending';
    case 'ending':
      return point === 'turn.ending';
    case 'working':
      return false;
    default:
      return moment satisfies never;
  }
}
