/**
 * The log: append-only, `seq` contiguous from 1. Writing happens in blocks: `commit` runs a synchronous function, all
 * of whose rows become durable together or not at all, and tells observers afterwards.
 */
import { z } from 'zod';
import type { Blobs, SqlPort } from '../storage/index.ts';
import { type EventBody, type EventType, eventBody, type LogEvent, type Seq } from './events.ts';
import { replaceOnSurface } from './surface.ts';

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
   * copy of rows reads them again.
   */
  observe: (onCommit: (committed: Committed[]) => void, onRollback?: () => void) => void;
  /** Events from `first` to `last`, parsed; of the named types only, where given. */
  read: (first: number, last: number, types?: readonly EventType[]) => LogEvent[];
  page: (query: { after: number; limit: number; types: readonly string[] | null }) => EventPage;
  /** The events of one step, from `step/start` to `step/end` or to the log's end; none where there is no such step. */
  readStep: (turn: number, step: number) => LogEvent[];
  /** The newest event of a type at or before `seq`. */
  newestBefore: (type: EventType, seq: number) => LogEvent | undefined;
}

interface EventRow extends Record<string, string | number> {
  seq: number;
  at: number;
  data: string;
}

const spilled = z.object({ $blob: z.string() });

export function createLog(sql: SqlPort, blobs: Blobs, now: () => number): Log {
  let last = sql.all<{ seq: number | null }>('SELECT max(seq) AS seq FROM events')[0]?.seq ?? 0;
  const observers: { onCommit: (committed: Committed[]) => void; onRollback: (() => void) | undefined }[] =
    [];

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
  const toJson = (row: EventRow): string => `{"seq":${row.seq},"at":${row.at},${restore(row.data).slice(1)}`;
  const parse = (row: EventRow): LogEvent => {
    const body = eventBody.parse(JSON.parse(restore(row.data)));
    // A row's seq is positive by the schema of the table.
    return { ...body, seq: row.seq as Seq, at: row.at };
  };

  const select = (
    where: string,
    types: readonly string[] | null,
    bounds: number[],
    limit: number,
  ): EventRow[] => {
    const filter = types ? `AND type IN (${types.map(() => '?').join(',')})` : '';
    const query = `SELECT seq, at, data FROM events WHERE ${where} ${filter} ORDER BY seq LIMIT ?`;
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
        committed.push({ event: { ...body, seq, at }, json: `{"seq":${seq},"at":${at},${data.slice(1)}` });
        return seq;
      };
      const result = runAtomically(() => write(append));
      last += committed.length;
      if (committed.length > 0) for (const { onCommit } of observers) onCommit(committed);
      return result;
    },
    observe: (onCommit, onRollback) => observers.push({ onCommit, onRollback }),
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
    newestBefore(type, seq) {
      const [row] = sql.all<EventRow>(
        'SELECT seq, at, data FROM events WHERE seq <= ? AND type = ? ORDER BY seq DESC LIMIT 1',
        seq,
        type,
      );
      return row && parse(row);
    },
  };
}
