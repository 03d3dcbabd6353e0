/** The two rows that say what this session is and where it stands. */
import { z } from 'zod';
import type { CreateSession } from '../rpc.ts';
import { NO_USAGE, type Seq, type Usage, usage } from '../transcript/events.ts';
import type { SqlPort } from './sql.ts';

const identityRow = z.object({
  tenant: z.string(),
  directory: z.string(),
  id: z.string(),
  agent: z.string(),
  model: z.string().nullable(),
  cwd: z.string(),
  metadata: z.string().transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text))),
  persona: z.string().nullable(),
  created_at: z.number(),
});
export type Identity = z.infer<typeof identityRow>;

export interface SessionState {
  /** Turns started so far. */
  turns: number;
  /** The seq of the open turn's `turn/start`; 0 where none is open. */
  openTurnSeq: Seq | 0;
  /** The seq of the newest `request/header`; 0 before the first. */
  headerSeq: Seq | 0;
  /** Whether the tenant's directory has taken this session in. */
  listed: boolean;
  usage: Usage;
}

export function readIdentity(sql: SqlPort): Identity | null {
  const [row] = sql.all('SELECT * FROM session');
  return row ? identityRow.parse(row) : null;
}

export function writeIdentity(
  sql: SqlPort,
  input: CreateSession,
  agent: string,
  cwd: string,
  now: number,
): void {
  sql.run(
    `INSERT INTO session (one, tenant, directory, id, agent, model, cwd, metadata, persona, created_at)
    VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    input.tenant,
    input.directory,
    input.id,
    agent,
    input.model,
    cwd,
    JSON.stringify(input.metadata),
    input.persona,
    now,
  );
  sql.run(
    'INSERT INTO state (one, turns, open_turn_seq, header_seq, listed, usage) VALUES (1, 0, 0, 0, 0, ?)',
    JSON.stringify(NO_USAGE),
  );
}

export function readState(sql: SqlPort): SessionState {
  type Row = { turns: number; open_turn_seq: number; header_seq: number; listed: number; usage: string };
  const [row] = sql.all<Row>('SELECT * FROM state');
  if (!row) throw new Error('the state row is missing');
  return {
    turns: row.turns,
    openTurnSeq: row.open_turn_seq as Seq | 0,
    headerSeq: row.header_seq as Seq | 0,
    listed: row.listed === 1,
    usage: usage.parse(JSON.parse(row.usage)),
  };
}

export function writeState(sql: SqlPort, state: SessionState): void {
  sql.run(
    'UPDATE state SET turns = ?, open_turn_seq = ?, header_seq = ?, listed = ?, usage = ?',
    state.turns,
    state.openTurnSeq,
    state.headerSeq,
    state.listed ? 1 : 0,
    JSON.stringify(state.usage),
  );
}
