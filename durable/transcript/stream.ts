/**
 * The text of an answer while it streams. It goes live to whoever listens, is kept in a few coalesced rows so that a
 * client which reconnects has the text so far even after an eviction, and goes away in the commit that logs the
 * answer.
 */
import type { Frame } from '../rpc.ts';
import type { SqlPort } from '../storage/index.ts';
import type { Log } from './log.ts';

/**
 * Text is written at least this far apart, and further as an answer grows, up to a fifth of what it took so far: rows
 * cost more than waiting. At a pause of 50 ms between two pieces, 2,000 of them are some 36 rows.
 */
const FIRST_GAP_MS = 50;
const LAST_GAP_MS = 5_000;
const GAP_GROWTH = 1.25;
const GAP_CHARS = 4_096;
/** A row takes in further text up to here: each time it is written anew, whole. */
const ROW_CHARS = 16_384;

export type DeltaFrame = Extract<Frame, { frame: 'delta' }>;
type Kind = DeltaFrame['kind'];
type Shown = DeltaFrame | Extract<Frame, { frame: 'restart' }>;

export interface StreamBuffer {
  begin: (turn: number, step: number, attempt: number) => void;
  /** Takes a piece of text; returns its frame. */
  push: (kind: Kind, text: string) => DeltaFrame;
  /** The open answer so far: `restart` where it is not the first attempt, then a frame for each run of one kind. */
  soFar: () => Shown[];
  /** Writes what no row has yet: part of a commit that people expect to keep all that they saw. */
  flush: () => void;
  /** Part of the commit that logs the answer or starts another attempt. */
  clear: () => void;
}

interface Attempt {
  turn: number;
  step: number;
  attempt: number;
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

export function createStreamBuffer(sql: SqlPort, log: Pick<Log, 'observe'>, now: () => number): StreamBuffer {
  let at: Attempt | null = null;
  let runs: Run[] = [];
  let sent: Record<Kind, number> = { text: 0, reasoning: 0 };
  const rows = createRows(sql, now);
  // The rows may be there again, and what was kept in memory beside them is not.
  log.observe(() => undefined, rows.reread);

  const reset = (next: Attempt | null): void => {
    rows.clear();
    at = next;
    runs = [];
    sent = { text: 0, reasoning: 0 };
  };
  return {
    begin(turn, step, attempt) {
      reset({ turn, step, attempt });
      rows.begin();
    },
    push(kind, text) {
      if (at === null) throw new Error('text of an answer that nobody asked for');
      const offset = sent[kind];
      // First: where the rows cannot be written, nobody is shown the piece, and nobody may find it later.
      rows.push(at, kind, offset, text);
      sent[kind] += text.length;
      extend(runs, kind, offset, text);
      return { frame: 'delta', ...at, offset, kind, text };
    },
    soFar: () => (at === null ? withRestart(rows.read()) : withRestart(runs.map(toFrame(at)), at)),
    flush() {
      if (at !== null) rows.write(at);
    },
    clear: () => reset(null),
  };
}

/** The table's side: what is not written yet, and when it is. */
function createRows(sql: SqlPort, now: () => number) {
  let pending: Run[] = [];
  let pendingChars = 0;
  /** The newest row, which takes in more text of its kind. */
  let open: { id: number; kind: Kind; chars: number } | null = null;
  let mayHold = true; // an earlier life of the object may have left the rows of the attempt that was cut
  let lastAt = 0;
  let gapMs = FIRST_GAP_MS;

  const writeRun = (at: Attempt, { kind, offset }: Run, text: string): void => {
    mayHold = true;
    if (open?.kind === kind && open.chars + text.length <= ROW_CHARS) {
      sql.run('UPDATE stream SET text = text || ? WHERE id = ?', text, open.id);
      open.chars += text.length;
      return;
    }
    const [row] = sql.all<{ id: number }>(
      `INSERT INTO stream (turn, step, attempt, kind, start, text) VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
      ...[at.turn, at.step, at.attempt, kind, offset, text],
    );
    open = row === undefined ? null : { id: row.id, kind, chars: text.length };
  };
  const write = (at: Attempt): void => {
    const due = pending;
    pending = [];
    pendingChars = 0;
    for (const run of due) {
      const { text, rest } = splitAtPair(run.pieces.join(''), run === due.at(-1));
      if (text !== '') writeRun(at, run, text);
      if (rest === '') continue;
      extend(pending, run.kind, run.offset + text.length, rest);
      pendingChars = rest.length;
    }
    lastAt = now();
    gapMs = Math.min(gapMs * GAP_GROWTH, LAST_GAP_MS);
  };
  return {
    begin() {
      gapMs = FIRST_GAP_MS;
      lastAt = now();
    },
    push(at: Attempt, kind: Kind, offset: number, text: string) {
      extend(pending, kind, offset, text);
      pendingChars += text.length;
      if (pendingChars >= GAP_CHARS || now() - lastAt >= gapMs) write(at);
    },
    write,
    read: () => (mayHold ? readRows(sql) : []),
    reread() {
      mayHold = true;
      open = null;
    },
    clear() {
      if (mayHold) sql.run('DELETE FROM stream');
      mayHold = false;
      open = null;
      pending = [];
      pendingChars = 0;
    },
  };
}

function extend(list: Run[], kind: Kind, offset: number, text: string): void {
  const run = list.at(-1);
  if (run?.kind === kind) run.pieces.push(text);
  else list.push({ kind, offset, pieces: [text] });
}

/** A pair of surrogates that is cut in two cannot be kept as UTF-8: its first half waits for the second. */
function splitAtPair(text: string, mayWait: boolean): { text: string; rest: string } {
  const last = text.charCodeAt(text.length - 1);
  const isHalf = mayWait && last >= 0xd800 && last <= 0xdbff;
  return isHalf ? { text: text.slice(0, -1), rest: text.slice(-1) } : { text, rest: '' };
}

function toFrame(at: Attempt) {
  return (run: Run): DeltaFrame => {
    const text = run.pieces.join('');
    // Whoever asks next finds it joined.
    run.pieces = [text];
    return { frame: 'delta', ...at, offset: run.offset, kind: run.kind, text };
  };
}

function withRestart(deltas: DeltaFrame[], at: Attempt | undefined = deltas[0]): Shown[] {
  if (at === undefined || at.attempt === 1) return deltas;
  const { turn, step, attempt } = at;
  return [{ frame: 'restart', turn, step, attempt }, ...deltas];
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
