/**
 * The text of an answer while it streams. It goes live to whoever listens, is kept as a few coalesced rows so that a
 * client which reconnects has the text so far even after an eviction, and goes away in the commit that logs the
 * answer.
 */
import type { Frame } from '../rpc.ts';
import type { SqlPort } from '../storage/index.ts';

/** Rows are written at least this far apart, and further as an answer grows: rows cost more than waiting. */
const FIRST_ROW_MS = 50;
const LAST_ROW_MS = 1_000;
const ROW_GROWTH = 1.5;
const ROW_CHARS = 4_096;

export type DeltaFrame = Extract<Frame, { frame: 'delta' }>;
type Kind = DeltaFrame['kind'];

export interface StreamBuffer {
  begin: (turn: number, step: number, attempt: number) => void;
  /** Takes a piece of text; returns its frame. */
  push: (kind: Kind, text: string) => DeltaFrame;
  /** The open answer's text so far, a frame for each run of one kind. */
  soFar: () => DeltaFrame[];
  /** Part of the commit that logs the answer or starts another attempt. */
  clear: () => void;
}

interface Run {
  kind: Kind;
  offset: number;
  pieces: string[];
}

interface StreamRow extends Record<string, string | number> {
  turn: number;
  step: number;
  attempt: number;
  kind: string;
  start: number;
  text: string;
}

export function createStreamBuffer(sql: SqlPort, now: () => number): StreamBuffer {
  let at = { turn: 0, step: 0, attempt: 0 };
  let runs: Run[] = [];
  let sent: Record<Kind, number> = { text: 0, reasoning: 0 };
  let pending: Run[] = [];
  let pendingChars = 0;
  let rowsKept = true; // after a restart there may be rows of the attempt that was cut
  let lastRowAt = 0;
  let gapMs = FIRST_ROW_MS;

  const writeRows = (): void => {
    for (const run of pending) {
      sql.run(
        'INSERT INTO stream (turn, step, attempt, kind, start, text) VALUES (?, ?, ?, ?, ?, ?)',
        at.turn,
        at.step,
        at.attempt,
        run.kind,
        run.offset,
        run.pieces.join(''),
      );
      rowsKept = true;
    }
    pending = [];
    pendingChars = 0;
    lastRowAt = now();
    gapMs = Math.min(gapMs * ROW_GROWTH, LAST_ROW_MS);
  };

  const extend = (list: Run[], kind: Kind, offset: number, text: string): void => {
    const run = list.at(-1);
    if (run?.kind === kind) run.pieces.push(text);
    else list.push({ kind, offset, pieces: [text] });
  };

  const clear = (): void => {
    if (rowsKept) sql.run('DELETE FROM stream');
    rowsKept = false;
    runs = [];
    pending = [];
    pendingChars = 0;
    sent = { text: 0, reasoning: 0 };
  };

  return {
    begin(turn, step, attempt) {
      clear();
      at = { turn, step, attempt };
      gapMs = FIRST_ROW_MS;
      lastRowAt = now();
    },
    push(kind, text) {
      const offset = sent[kind];
      sent[kind] += text.length;
      extend(runs, kind, offset, text);
      extend(pending, kind, offset, text);
      pendingChars += text.length;
      if (pendingChars >= ROW_CHARS || now() - lastRowAt >= gapMs) writeRows();
      return { frame: 'delta', ...at, offset, kind, text };
    },
    soFar() {
      if (runs.length > 0) {
        return runs.map(({ kind, offset, pieces }) => ({
          frame: 'delta',
          ...at,
          offset,
          kind,
          text: pieces.join(''),
        }));
      }
      return rowsKept ? readRows(sql) : [];
    },
    clear,
  };
}

function readRows(sql: SqlPort): DeltaFrame[] {
  return sql
    .all<StreamRow>('SELECT turn, step, attempt, kind, start, text FROM stream ORDER BY id')
    .map((row) => ({
      frame: 'delta',
      turn: row.turn,
      step: row.step,
      attempt: row.attempt,
      offset: row.start,
      kind: row.kind === 'reasoning' ? 'reasoning' : 'text',
      text: row.text,
    }));
}
