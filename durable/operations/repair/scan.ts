/**
 * One pass over the log, a page at a time: what cannot be read, and what the rows beside the log have to say. Memory
 * grows with what is wrong, not with the log.
 */
import { addToPrefix, createPrefix, interruptTurn, type Prefix } from '../../fork/index.ts';
import type { Blobs, SqlPort } from '../../storage/index.ts';
import {
  type EventBody,
  eventBody,
  foldTurn,
  type LogEvent,
  openTurn,
  type Seq,
  type TurnState,
} from '../../transcript/index.ts';
import { createStepCheck, type StepCheck } from './step-check.ts';

/** Rows hold up to half a million characters each. */
const PAGE = 32;

/** A row that cannot be read, or is not there. */
export interface RowFault {
  seq: number;
  /** The column beside the event, which may be readable though the event is not; null where the row is missing. */
  type: string | null;
  /** What takes its place: what it must have said, where that is known, and null else. */
  said: EventBody | null;
}

export interface LogScan {
  prefix: Prefix;
  faults: RowFault[];
  /** The open turn, and whether it can go on. */
  turn: { state: TurnState; isBroken: boolean } | null;
  /** Turns that another one followed without their end. */
  unended: { state: TurnState; at: number }[];
  /** Messages of steps in which a call has no result or a result no call, by seq. */
  brokenSteps: Seq[][];
}

type Row = { seq: number; at: number; type: string; data: string };

/** `created` is the session's first event as its row says it. */
export function scanLog(sql: SqlPort, blobs: Blobs, created: EventBody): LogScan {
  const scan: LogScan = { prefix: createPrefix(), faults: [], turn: null, unended: [], brokenSteps: [] };
  const check = createStepCheck(scan.brokenSteps);
  let last = 0;
  for (;;) {
    const rows = sql.all<Row>(
      'SELECT seq, at, type, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?',
      last,
      PAGE,
    );
    for (const row of rows) {
      while (++last < row.seq) {
        const isEnd = last === row.seq - 1 && row.type === 'turn/start' && scan.turn !== null;
        takeFault(scan, check, created, { seq: last, type: isEnd ? 'turn/end' : null, at: scan.prefix.at });
      }
      const body = readBody(row, blobs);
      if (body) take(scan, check, place(body, row), false);
      else takeFault(scan, check, created, row);
    }
    if (rows.length < PAGE) break;
  }
  check.end(false);
  return scan;
}

function place(body: EventBody, { seq, at }: { seq: number; at: number }): LogEvent {
  // A row's seq is positive by the schema of the table.
  return { ...body, seq: seq as Seq, at };
}

function readBody({ type, data }: Row, blobs: Blobs): EventBody | null {
  try {
    const value: unknown = JSON.parse(data);
    const spilled = typeof value === 'object' && value !== null && '$blob' in value ? value.$blob : null;
    const body = eventBody.parse(spilled === null ? value : JSON.parse(blobs.getText(String(spilled))));
    return body.type === type ? body : null;
  } catch {
    // Not JSON, not of the union, or in a blob that is gone: it cannot be read.
    return null;
  }
}

function takeFault(
  scan: LogScan,
  check: StepCheck,
  created: EventBody,
  { seq, at, type }: { seq: number; at: number; type: string | null },
): void {
  const said = recallBody(scan, created, seq, type);
  scan.faults.push({ seq, type, said });
  take(
    scan,
    check,
    place(said ?? { type: 'command/done', command: 'repair', result: [] }, { seq, at }),
    true,
  );
  if (scan.turn && isOfTurn(type)) scan.turn.isBroken = true;
}

/** What an event must have said, from what stands around it. */
function recallBody(
  { prefix, turn }: LogScan,
  created: EventBody,
  seq: number,
  type: string | null,
): EventBody | null {
  if (seq === 1) return created;
  if (type === 'turn/start') return { type, turn: prefix.turns + 1 };
  if (!turn) return null;
  const { turn: number, step } = turn.state;
  // Whom it claimed, the messages after it say.
  if (type === 'step/start') return { type, turn: number, step: step + 1, claimed: [] };
  if (type !== 'turn/end') return null;
  return interruptTurn(turn.state, prefix.at, 'The record of how this turn ended could not be read.');
}

/** Whether a turn can go on without the event. */
function isOfTurn(type: string | null): boolean {
  return type === null || !/^(inbox|command)\//.test(type);
}

function take(scan: LogScan, check: StepCheck, event: LogEvent, isBroken: boolean): void {
  const { prefix } = scan;
  check.take(event);
  if (event.type === 'turn/start') {
    if (scan.turn) scan.unended.push({ state: scan.turn.state, at: prefix.at });
    scan.turn = { state: openTurn(0), isBroken };
  }
  addToPrefix(prefix, event);
  if (!scan.turn) return;
  scan.turn.state = foldTurn(scan.turn.state, event);
  if (scan.turn.state.ended) scan.turn = null;
}
