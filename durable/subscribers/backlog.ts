/** What a socket begins with: events of the log as frames, then the text of the answer in progress. */
import { z } from 'zod';
import { restartAfter, type StreamFrame } from '../stream-cursor.ts';
import type { Committed, Log, StreamBuffer } from '../transcript/index.ts';

/** Events read at once: bounds the memory of one catch-up. */
const PAGE_EVENTS = 200;
/** Events kept: the first step of a turn with its injections, and more. */
const RECENT_EVENTS = 32;
const RECENT_CHARS = 32_768;

export interface Backlog {
  log: Pick<Log, 'lastSeq' | 'page'>;
  stream: Pick<StreamBuffer, 'soFar'>;
  /** The newest events: a reply stream is opened right after its admission, and wants these. */
  recent: readonly Committed[];
}

/** Everything behind `after` that there is now. Read as it is pulled; nothing may be logged in between. */
export function* readBacklog({ log, stream, recent }: Backlog, after: number): Generator<StreamFrame> {
  const first = recent[0];
  if (first !== undefined && after >= first.event.seq - 1) {
    for (const entry of recent) if (entry.event.seq > after) yield* toFrames(entry);
  } else {
    yield* readLog(log, after);
  }
  yield* stream.soFar();
}

function* readLog(log: Backlog['log'], after: number): Generator<StreamFrame> {
  for (let at: number | null = after >= log.lastSeq() ? null : after; at !== null; ) {
    const { events, next } = log.page({ after: at, limit: PAGE_EVENTS, types: null });
    for (const json of events) yield* placeEvent(placed.parse(JSON.parse(json)), json);
    at = next;
  }
}

/** The newest events with those that come. Without a gap, so a long one ends what is kept: it is read from the log. */
export function keepRecent(recent: readonly Committed[], coming: readonly Committed[]): Committed[] {
  const all = [...recent, ...coming];
  const long = all.findLastIndex(({ json }) => json.length > RECENT_CHARS);
  return all.slice(Math.max(long + 1, all.length - RECENT_EVENTS));
}

/** A logged event's frame, and the `restart` that may follow it. */
export function toFrames({ event, json }: Committed): StreamFrame[] {
  return placeEvent(event, json);
}

const placed = z.looseObject({
  seq: z.number(),
  type: z.string(),
  turn: z.number().optional(),
  step: z.number().optional(),
  attempt: z.number().optional(),
});

function placeEvent(event: z.infer<typeof placed>, data: string): StreamFrame[] {
  const { seq, type, turn = null } = event;
  const frame: StreamFrame = { frame: 'event', seq, type, turn, data };
  const restart = restartAfter(event);
  return restart === null ? [frame] : [frame, restart];
}
