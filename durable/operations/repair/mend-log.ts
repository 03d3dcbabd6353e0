/** What a scan of the log found is mended: rows that cannot be read, the turn that they belonged to, what models see. */
import { interruptTurn } from '../../fork/index.ts';
import type { Blobs, SqlPort } from '../../storage/index.ts';
import {
  type EventBody,
  type MessageId,
  repairCalls,
  type Seq,
  type SurfaceRange,
  type TurnState,
} from '../../transcript/index.ts';
import type { Mend } from './mend.ts';
import type { LogScan, RowFault } from './scan.ts';

const LOST = 'A part of this conversation was lost to a fault of the service and is not here any more.';

/**
 * Puts what is known, or a note, in the place of rows that cannot be read. The log is never updated but here: what
 * cannot be read cannot be folded either, and the row's bytes are kept.
 */
export function replaceRows(sql: SqlPort, blobs: Blobs, { faults, prefix }: LogScan): Mend[] {
  return faults.map((fault) => {
    const kept = keepRow(sql, blobs, fault);
    const what = fault.type === null ? `Event ${fault.seq}` : `Event ${fault.seq}, a ${fault.type},`;
    const wrong = kept === null ? 'was missing' : 'could not be read';
    const done = fault.said ? 'what it must have said was written' : 'a note stands in its place';
    const line = `${what} ${wrong}; ${done}.${kept === null ? '' : ` Its row is kept as blob ${kept}.`}`;
    const body: EventBody = fault.said ?? { type: 'command/done', command: 'repair', result: [line] };
    sql.run(
      `INSERT INTO events (seq, at, type, data) VALUES (?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE SET type = excluded.type, data = excluded.data`,
      fault.seq,
      prefix.at,
      body.type,
      JSON.stringify(body),
    );
    return { did: line, events: [] };
  });
}

/** The digest of the row's bytes; null where there is no row. */
function keepRow(sql: SqlPort, blobs: Blobs, { seq }: RowFault): string | null {
  const [row] = sql.all<{ data: string | ArrayBuffer | number | null }>(
    'SELECT data FROM events WHERE seq = ?',
    seq,
  );
  if (!row) return null;
  return blobs.put(row.data instanceof ArrayBuffer ? new Uint8Array(row.data) : String(row.data));
}

/**
 * Takes the steps that no provider would accept off the surface, and closes a turn that cannot go on: a result for each
 * call without one, then its end.
 */
export function mendTurns(scan: LogScan, newMessageId: () => MessageId): Mend[] {
  const { turn, unended, brokenSteps, prefix } = scan;
  const mends: Mend[] = [];
  for (const step of brokenSteps) {
    const shown = step.filter((seq) => isOn(prefix.surface, seq));
    if (shown.length === 0) continue;
    mends.push({
      did: `Messages ${shown.join(', ')} have lost a part of their step; a note takes their place for models.`,
      events: [noteLoss(shown, Math.max(1, prefix.turns), newMessageId())],
    });
  }
  if (turn?.isBroken) {
    mends.push({
      did: `Turn ${turn.state.turn} could not go on and was closed.`,
      events: closeTurn(turn.state, prefix.at),
    });
  }
  // Beside a turn that goes on, an end would be taken for its own.
  if (turn && !turn.isBroken) return mends;
  for (const { state, at } of unended) {
    mends.push({
      did: `Turn ${state.turn} had no end and got one.`,
      events: [interruptTurn(state, at, 'The turn was left without an end.')],
    });
  }
  return mends;
}

function closeTurn(state: TurnState, at: number): EventBody[] {
  const { turn, stepOpen } = state;
  // A step of which the beginning is missing has a number all the same.
  const step = Math.max(1, state.step);
  return [
    ...repairCalls({ ...state, step }, 'restarted', () => false),
    ...(stepOpen ? [{ type: 'step/end' as const, turn, step }] : []),
    interruptTurn(state, at, 'Events of this turn could not be read after a fault.'),
  ];
}

function noteLoss(shadowed: readonly Seq[], turn: number, id: MessageId): EventBody {
  return {
    type: 'user/message',
    turn,
    message: {
      id,
      role: 'user',
      source: { kind: 'plugin', name: 'repair' },
      content: [{ type: 'text', text: LOST }],
    },
    surface: { replace: [...shadowed] },
  };
}

function isOn(ranges: readonly SurfaceRange[], seq: number): boolean {
  return ranges.some(({ first, last }) => seq >= first && (last === null || seq <= last));
}
