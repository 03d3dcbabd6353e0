/** The rows beside the log, written again from what the log says where they say something else. */
import { z } from 'zod';
import type { Prefix } from '../../fork/index.ts';
import { readState, type SessionState, type SqlPort, writeState } from '../../storage/index.ts';
import {
  type EventBody,
  eventBody,
  type SurfaceRange,
  type TurnState,
  writeRanges,
} from '../../transcript/index.ts';
import type { Mend } from './mend.ts';

type SessionRow = {
  agent: string;
  model: string | null;
  cwd: string;
  metadata: string;
  persona: string | null;
  parent: string;
};
const metadata = z.record(z.string(), z.string());
const parent = z.object({ session: z.string(), at_seq: z.number().int().positive() }).nullable();

/**
 * Mends the row that says what the session is, from the log's first event where that can be read. Returns that event as
 * the row has it now.
 */
export function mendIdentity(sql: SqlPort): { created: EventBody; mends: Mend[] } {
  const [row] = sql.all<SessionRow>('SELECT agent, model, cwd, metadata, persona, parent FROM session');
  if (!row) throw new Error('the session row is missing');
  const first = readFirst(sql);
  const known = readJson(row.metadata, metadata);
  const from = readJson(row.parent, parent);
  const mends: Mend[] = [];
  const said = known ?? first?.metadata ?? {};
  const origin = from === undefined ? (first?.parent ?? null) : from;
  if (known === undefined || from === undefined) {
    sql.run('UPDATE session SET metadata = ?, parent = ?', JSON.stringify(said), JSON.stringify(origin));
    mends.push(
      toMend(
        first
          ? 'The row that says what the session is could not be read and was written from the log.'
          : 'The row that says what the session is could not be read; its metadata and its parent are lost.',
      ),
    );
  }
  const { agent, model, cwd, persona } = row;
  const created: EventBody = {
    type: 'session/created',
    agent,
    model,
    cwd,
    metadata: said,
    persona,
    ...(origin ? { parent: origin } : {}),
  };
  return { created, mends };
}

function readFirst(sql: SqlPort) {
  const [row] = sql.all<{ data: string }>('SELECT data FROM events WHERE seq = 1');
  const body = row && readJson(row.data, eventBody);
  return body?.type === 'session/created' ? body : null;
}

function readJson<T extends z.ZodType>(text: string, schema: T): z.output<T> | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    // It cannot be read: that is what was asked.
    return undefined;
  }
}

/** Before the commit: replacements in it start from these ranges. */
export function mendSurface(sql: SqlPort, { surface }: Prefix): Mend[] {
  const stored = sql.all<{ first: number; last: number | null }>(
    'SELECT first, last FROM surface ORDER BY ordinal',
  );
  if (JSON.stringify(stored) === JSON.stringify(surface satisfies SurfaceRange[])) return [];
  writeRanges(sql, surface);
  return [toMend('The ranges of what models see were wrong and were written from the log.')];
}

/** `open` is the turn that goes on. */
export function mendStream(sql: SqlPort, open: TurnState | null): Mend[] {
  const { turn, step } = open?.stepOpen && !open.answered ? open : { turn: 0, step: 0 };
  const rows = sql.all('DELETE FROM stream WHERE NOT (turn = ? AND step = ?) RETURNING id', turn, step);
  return rows.length === 0
    ? []
    : [toMend(`${rows.length} rows of text that no open step streams were removed.`)];
}

/** Which of what turns used cannot be told to the directory any more. */
export function mendUses(sql: SqlPort): Mend[] {
  const rows = sql.all('DELETE FROM uses WHERE NOT json_valid(uses) RETURNING turn');
  return rows.length === 0
    ? []
    : [toMend(`The uses of skills in ${rows.length} turns could not be read and are not told.`)];
}

/** Writes the state row anew where the log says something else. */
export function mendState(sql: SqlPort, prefix: Prefix): Mend[] {
  const stored = readStored(sql);
  const { turns, openTurnSeq, headerSeq, usage, spent } = prefix;
  const isSame =
    stored !== null &&
    stored.turns === turns &&
    stored.openTurnSeq === openTurnSeq &&
    stored.headerSeq === headerSeq &&
    JSON.stringify(stored.usage) === JSON.stringify(usage);
  if (isSame) return [];
  const goesOn = stored !== null && openTurnSeq > 0 && stored.openTurnSeq === openTurnSeq;
  sql.run('DELETE FROM state');
  sql.run(
    "INSERT INTO state (one, turns, open_turn_seq, header_seq, listed, usage) VALUES (1, 0, 0, 0, 0, '')",
  );
  writeState(sql, {
    turns,
    openTurnSeq,
    headerSeq,
    usage,
    spent,
    // Not listed where it is not known: telling the directory twice changes nothing.
    listed: stored?.listed ?? false,
    resumed: goesOn ? stored.resumed : null,
    cancel: openTurnSeq > 0 ? (stored?.cancel ?? null) : null,
  });
  return [toMend('The row that says where the session stands was wrong and was written from the log.')];
}

function readStored(sql: SqlPort): SessionState | null {
  try {
    return readState(sql);
  } catch {
    // Missing or not to be read: the log says what it must have said.
    return null;
  }
}

function toMend(did: string): Mend {
  return { did, events: [] };
}
