/**
 * The surface: the messages that the model sees. It is kept as ranges of `seq` whose last one is open, so that an
 * append costs no row and opening a session reads only what is on it, however long the log is.
 */
import type { SqlPort } from '../storage/index.ts';
import type { MessageSource, SurfaceEvent } from './events.ts';
import type { Committed, Log } from './log.ts';
import { isReset, isSurfaceEvent } from './surface-fold.ts';

export interface SurfaceRange {
  first: number;
  /** Null: open, to the log's end. */
  last: number | null;
}

type UserEvent = Extract<SurfaceEvent, { type: 'user/message' }>;

/** Counts how often the surface was replaced, so that whoever keeps a copy knows when to build it anew. */
export interface Surface {
  events: () => readonly SurfaceEvent[];
  /** The newest `user/message` whose source is of this kind. */
  lastOfKind: (kind: MessageSource['kind']) => UserEvent | undefined;
  generation: () => number;
}

const SURFACE_TYPES = ['user/message', 'assistant/message', 'tool/result'] as const;

/**
 * The ranges after the event at `seq` took the place of the events in `shadowed` (ascending). The new event stands
 * where the first of them stood. Pure; adjacent ranges are joined.
 */
export function replaceInRanges(
  ranges: SurfaceRange[],
  seq: number,
  shadowed: readonly number[],
): SurfaceRange[] {
  const gone = new Set<number>([...shadowed, seq]);
  const place = shadowed[0] ?? seq;
  const result: SurfaceRange[] = [];
  for (const range of ranges) {
    let first = range.first;
    for (const cut of [...gone].filter((s) => inRange(range, s)).sort((a, b) => a - b)) {
      if (cut > first) result.push({ first, last: cut - 1 });
      if (cut === place) result.push({ first: seq, last: seq });
      first = cut + 1;
    }
    if (range.last === null || first <= range.last) result.push({ first, last: range.last });
  }
  return result.filter((range, i) => range.last !== null || i === result.length - 1);
}

function inRange(range: SurfaceRange, seq: number): boolean {
  return seq >= range.first && (range.last === null || seq <= range.last);
}

function readRanges(sql: SqlPort): SurfaceRange[] {
  return sql.all<{ first: number; last: number | null }>('SELECT first, last FROM surface ORDER BY ordinal');
}

/** Writes the ranges after a replacement: part of the commit that appends the event at `seq`. */
export function replaceOnSurface(sql: SqlPort, seq: number, shadowed: readonly number[]): void {
  writeRanges(sql, replaceInRanges(readRanges(sql), seq, shadowed));
}

export function writeRanges(sql: SqlPort, ranges: readonly SurfaceRange[]): void {
  sql.run('DELETE FROM surface');
  for (const [i, range] of ranges.entries()) {
    sql.run('INSERT INTO surface (ordinal, first, last) VALUES (?, ?, ?)', i + 1, range.first, range.last);
  }
}

/** Leaves only what comes after the event at `seq`: part of the commit that appends it. */
export function resetSurface(sql: SqlPort, seq: number): void {
  sql.run('DELETE FROM surface');
  sql.run('INSERT INTO surface (ordinal, first, last) VALUES (1, ?, NULL)', seq + 1);
}

/** Reads the surface on first use, and follows the log from there. */
export function createSurface(sql: SqlPort, log: Log): Surface {
  let loaded: SurfaceEvent[] | null = null;
  let generation = 0;
  const newest = new Map<MessageSource['kind'], UserEvent>();
  const noteKind = (event: SurfaceEvent): void => {
    if (event.type === 'user/message') newest.set(event.message.source.kind, event);
  };
  log.observe((committed: Committed[]) => {
    for (const { event } of committed) {
      if (isReset(event)) {
        loaded = null;
        generation++;
      }
      if (!isSurfaceEvent(event)) continue;
      if (event.surface === 'append') {
        loaded?.push(event);
        if (loaded) noteKind(event);
      } else {
        loaded = null;
        generation++;
      }
    }
  });
  const load = (): SurfaceEvent[] => {
    const events = readRanges(sql).flatMap((range) =>
      log.read(range.first, range.last ?? log.lastSeq(), SURFACE_TYPES).filter(isSurfaceEvent),
    );
    newest.clear();
    for (const event of events) noteKind(event);
    return events;
  };
  const events = (): readonly SurfaceEvent[] => {
    loaded ??= load();
    return loaded;
  };
  return {
    events,
    lastOfKind(kind) {
      events();
      return newest.get(kind);
    },
    generation: () => generation,
  };
}
