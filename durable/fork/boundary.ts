/**
 * Where a log may be parted: at a seq behind which no step and no command is open. Looked up from the place backwards,
 * so that it costs a step's events and not the log.
 */
import { invalidRequest, notABoundary } from '../errors.ts';
import type { SqlPort } from '../storage/index.ts';

interface Mark extends Record<string, string | number> {
  seq: number;
  type: string;
}

/** The events that open or close a step or a command. */
const EDGES = "'session/created','step/start','step/end','turn/end','command/run','command/done'";

/** The seq itself where it is a boundary. Throws `not_a_boundary` with the nearest ones: `{before, after}`. */
export function checkBoundary(sql: SqlPort, seq: number): number {
  const last = readLastSeq(sql);
  if (seq < 1) throw invalidRequest('at_seq is a seq of the log, from 1.');
  if (seq > last) {
    const before = findOpening(sql, last)?.seq ?? last + 1;
    throw notABoundary(`The log ends at ${last}.`, { before: before - 1, after: null });
  }
  const opening = findOpening(sql, seq);
  if (!opening) return seq;
  const what = opening.type === 'command/run' ? 'A command' : 'A step';
  throw notABoundary(`${what} is open at ${seq}.`, {
    before: opening.seq - 1,
    after: findClosing(sql, seq),
  });
}

/** The newest boundary that is in no turn: before the one in flight, where one is. */
export function findNewestBoundary(sql: SqlPort, openTurnSeq: number): number {
  const last = openTurnSeq > 0 ? openTurnSeq - 1 : readLastSeq(sql);
  const opening = findOpening(sql, last);
  return opening ? opening.seq - 1 : last;
}

/** What opened the step or the command that is open at `seq`; null where none is. */
function findOpening(sql: SqlPort, seq: number): Mark | null {
  const [edge] = sql.all<Mark>(
    `SELECT seq, type FROM events WHERE seq <= ? AND type IN (${EDGES}) ORDER BY seq DESC LIMIT 1`,
    seq,
  );
  return edge && (edge.type === 'step/start' || edge.type === 'command/run') ? edge : null;
}

function findClosing(sql: SqlPort, seq: number): number | null {
  const [edge] = sql.all<Mark>(
    `SELECT seq, type FROM events WHERE seq > ? AND type IN ('step/end','turn/end','command/done')
      ORDER BY seq LIMIT 1`,
    seq,
  );
  return edge?.seq ?? null;
}

function readLastSeq(sql: SqlPort): number {
  return sql.all<{ seq: number | null }>('SELECT max(seq) AS seq FROM events')[0]?.seq ?? 0;
}
