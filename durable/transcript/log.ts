/**
 * The log: append-only, `seq` contiguous from 1. Writing happens in blocks: `commit` runs a synchronous function, all
 * of whose rows become durable together or not at all, and tells observers afterwards.
 */
import { z } from 'zod';
import { sessionDamaged } from '../errors.ts';
import {
  APPROVAL_KEY,
  APPROVAL_TYPES,
  type Blobs,
  FATE_KEY,
  FATE_TYPES,
  type SqlPort,
} from '../storage/index.ts';
import { type EventBody, type EventType, eventBody, type LogEvent, type Seq } from './events.ts';
import { replaceOnSurface, resetSurface } from './surface.ts';
import { isReset } from './surface-fold.ts';

/** Rows hold at most 2 MB; a longer event goes to the blobs and its row names it. */
const ROW_CHARS = 500_000;
/** SQL's own "no limit". */
const MAX_ROWS = -1;

export type Append = (body: EventBody) => Seq;

/** A committed event with its JSON as it goes to clients: `{"seq":…,"at":…,"type":…,…}`. */
export interface Committed {
  event: LogEvent;
  json: string;
}

export interface EventPage {
  /** The events' JSON texts, in order. */
  events: string[];
  /** The seq to go on after; null where the log ends. */
  next: number | null;
}

export interface Log {
  lastSeq: () => number;
  /** Not reentrant. What `write` appends is visible to readers when it returns. */
  commit: <T>(write: (append: Append) => T) => T;
  /**
   * Calls `onCommit` after each commit with what it appended, and `onRollback` after one that failed: whoever keeps a
   * copy of rows reads them again. `onCommit` must not throw: the commit is made, and others are still to hear of it.
   * Rows that are derived from events are written in `within`, which is part of the commit.
   */
  observe: (
    onCommit: (committed: Committed[]) => void,
    onRollback?: () => void,
    within?: (committed: readonly Committed[]) => void,
  ) => void;
  /** Events from `first` to `last`, parsed; of the named types only, where given. */
  read: (first: number, last: number, types?: readonly EventType[]) => LogEvent[];
  page: (query: { after: number; limit: number; types: readonly string[] | null }) => EventPage;
  /** The events of one step, from `step/start` to `step/end` or to the log's end; none where there is no such step. */
  readStep: (turn: number, step: number) => LogEvent[];
  /** Whether a message of this id was ever taken in, where, and whether it was discarded. One look into an index. */
  fateOf: (message: string) => { admitted: Seq; isDiscarded: boolean } | null;
  /** What became of an approval, whenever it was asked for. */
  fateOfApproval: (approval: string) => { asked: boolean; decision: { outcome: string; by: string } | null };
  /** The newest event of a type at or before `seq`. */
  newestBefore: (type: EventType, seq: number) => LogEvent | undefined;
}

interface EventRow extends Record<string, string | number> {
  seq: number;
  at: number;
  type: string;
  data: string;
}

const spilled = z.object({ $blob: z.string() });

export function createLog(sql: SqlPort, blobs: Blobs, now: () => number): Log {
  let last = sql.all<{ seq: number | null }>('SELECT max(seq) AS seq FROM events')[0]?.seq ?? 0;
  const observers: {
    onCommit: (committed: Committed[]) => void;
    onRollback: (() => void) | undefined;
    within: ((committed: readonly Committed[]) => void) | undefined;
  }[] = [];

  const runAtomically = <T>(write: () => T): T => {
    try {
      return sql.atomically(write);
    } catch (error) {
      for (const { onRollback } of observers) onRollback?.();
      throw error;
    }
  };

  const restore = (data: string): string => {
    if (!data.startsWith('{"$blob"')) return data;
    return blobs.getText(spilled.parse(JSON.parse(data)).$blob);
  };
  const toJson = (row: EventRow): string =>
    `{"seq":${row.seq},"at":${row.at},${restoreIfThere(row.data).slice(1)}`;
  /** A page shows the row as it is where its blob is gone: readers say that it cannot be read. */
  const restoreIfThere = (data: string): string => {
    try {
      return restore(data);
    } catch {
      return data;
    }
  };
  const parse = (row: EventRow): LogEvent => {
    try {
      const body = eventBody.parse(JSON.parse(restore(row.data)));
      if (body.type !== row.type) throw new Error('the row says another type than its event');
      // A row's seq is positive by the schema of the table.
      return { ...body, seq: row.seq as Seq, at: row.at };
    } catch {
      // What the parser says may quote the row.
      throw sessionDamaged(`Event ${row.seq} cannot be read. A repair mends the session.`, { seq: row.seq });
    }
  };

  const select = (
    where: string,
    types: readonly string[] | null,
    bounds: number[],
    limit: number,
  ): EventRow[] => {
    const filter = types ? `AND type IN (${types.map(() => '?').join(',')})` : '';
    const query = `SELECT seq, at, type, data FROM events WHERE ${where} ${filter} ORDER BY seq LIMIT ?`;
    return sql.all<EventRow>(query, ...bounds, ...(types ?? []), limit);
  };

  return {
    lastSeq: () => last,
    commit(write) {
      const at = now();
      const committed: Committed[] = [];
      const append: Append = (body) => {
        const seq = (last + committed.length + 1) as Seq;
        const data = JSON.stringify(body);
        const kept = data.length > ROW_CHARS ? JSON.stringify({ $blob: blobs.put(data) }) : data;
        sql.run('INSERT INTO events (seq, at, type, data) VALUES (?, ?, ?, ?)', seq, at, body.type, kept);
        if ('surface' in body && body.surface !== 'append') replaceOnSurface(sql, seq, body.surface.replace);
        if (isReset(body)) resetSurface(sql, seq);
        committed.push({ event: { ...body, seq, at }, json: `{"seq":${seq},"at":${at},${data.slice(1)}` });
        return seq;
      };
      const result = runAtomically(() => {
        const written = write(append);
        for (const { within } of observers) within?.(committed);
        return written;
      });
      last += committed.length;
      if (committed.length > 0) for (const { onCommit } of observers) onCommit(committed);
      return result;
    },
    observe: (onCommit, onRollback, within) => observers.push({ onCommit, onRollback, within }),
    read: (first, end, types) =>
      select('seq BETWEEN ? AND ?', types ?? null, [first, end], MAX_ROWS).map(parse),
    page({ after, limit, types }) {
      const rows = select('seq > ?', types, [after], limit + 1);
      const page = rows.slice(0, Math.max(limit, 0));
      const next = rows.length > limit ? (page.at(-1)?.seq ?? null) : null;
      return { events: page.map(toJson), next };
    },
    readStep(turn, step) {
      const [row] = sql.all<{ seq: number }>(
        `SELECT seq FROM events WHERE type = 'step/start'
          AND json_extract(data, '$.turn') = ? AND json_extract(data, '$.step') = ?`,
        turn,
        step,
      );
      if (!row) return [];
      const [end] = sql.all<{ seq: number }>(
        "SELECT seq FROM events WHERE seq > ? AND type IN ('step/end', 'turn/end') ORDER BY seq LIMIT 1",
        row.seq,
      );
      return select('seq BETWEEN ? AND ?', null, [row.seq, end?.seq ?? last], MAX_ROWS).map(parse);
    },
    fateOf(message) {
      const rows = sql.all<{ seq: number; type: string }>(
        `SELECT seq, type FROM events WHERE ${FATE_TYPES} AND ${FATE_KEY} = ? ORDER BY seq`,
        message,
      );
      const admitted = rows.find(({ type }) => type === 'inbox/admitted');
      if (!admitted) return null;
      return { admitted: admitted.seq as Seq, isDiscarded: rows.length > 1 };
    },
    fateOfApproval(approval) {
      const rows = sql.all<EventRow>(
        `SELECT seq, at, type, data FROM events WHERE ${APPROVAL_TYPES} AND ${APPROVAL_KEY} = ? ORDER BY seq`,
        approval,
      );
      const resolved = rows.map(parse).find((event) => event.type === 'approval/resolved');
      return {
        asked: rows.length > 0,
        decision: resolved ? { outcome: resolved.outcome, by: resolved.by } : null,
      };
    },
    newestBefore(type, seq) {
      const [row] = sql.all<EventRow>(
        'SELECT seq, at, type, data FROM events WHERE seq <= ? AND type = ? ORDER BY seq DESC LIMIT 1',
        seq,
        type,
      );
      return row && parse(row);
    },
  };
}
