/**
 * Places in a log that are the same in two runs of a session, whatever their seqs: the structure of turns, steps,
 * requests and calls. Pure.
 */
import type { LogEvent, LogEventOf } from '../../durable/transcript/index.ts';

/** Before everything else. */
export const BEGINNING = 'created';

/** The event's place; null for one that is no part of the structure. */
export function placeOf(event: LogEvent): string | null {
  switch (event.type) {
    case 'session/created':
      return BEGINNING;
    case 'turn/start':
      return `turn ${event.turn}`;
    case 'step/start':
      return `step ${event.turn}.${event.step}`;
    case 'request/attempt':
      return `asked ${event.turn}.${event.step}.${event.attempt}`;
    case 'request/failed':
      return `failed ${event.turn}.${event.step}.${event.attempt}`;
    case 'assistant/message':
      return `answered ${event.turn}.${event.step}`;
    case 'tool/call':
      return `called ${event.turn}.${event.step} ${event.call}`;
    case 'tool/result':
      return `settled ${event.turn}.${event.step} ${event.call}`;
    case 'step/end':
      return `step-end ${event.turn}.${event.step}`;
    case 'turn/end':
      return `turn-end ${event.turn}`;
    default:
      return null;
  }
}

/** The place of a request that was made again because a restart had cut off the one before. */
export function nameAgain({ turn, step, attempt }: LogEventOf<'request/attempt'>): string {
  return `again ${turn}.${step}.${attempt}`;
}

/** The turn that a place is in; 0 for none. */
export function turnOf(place: string): number {
  return Number(/ (\d+)/.exec(place)?.[1] ?? 0);
}

/**
 * The log without the requests that were made anew because a restart had cut off the one before, and the attempts of
 * each step numbered without them: what a process that nothing interrupts would have logged.
 */
export function withoutLost(events: readonly LogEvent[]): LogEvent[] {
  const filter = createLossFilter();
  return events.flatMap((event) => filter(event) ?? []);
}

/** The same, event by event: null for a request that was made anew. */
export function createLossFilter(): (event: LogEvent) => LogEvent | null {
  let attempt = 0;
  let isOpen = false;
  return (event) => {
    switch (event.type) {
      case 'step/start':
        attempt = 0;
        isOpen = false;
        return event;
      case 'request/attempt':
        if (isOpen) return null;
        isOpen = true;
        attempt++;
        return { ...event, attempt };
      case 'request/failed':
      case 'assistant/message':
        isOpen = false;
        return { ...event, attempt };
      default:
        return event;
    }
  };
}
