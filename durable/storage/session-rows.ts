/** The two rows that say what this session is and where it stands. */
import { z } from 'zod';
import { type CreateSession, type Spend, spend } from '../rpc.ts';
import { NO_USAGE, type Seq, type Usage, usage } from '../transcript/events.ts';
import type { SqlPort } from './sql.ts';

function jsonColumn<T extends z.ZodType>(schema: T) {
  return z.string().transform((text) => schema.parse(JSON.parse(text)));
}

const identityRow = z.object({
  tenant: z.string(),
  directory: z.string(),
  id: z.string(),
  agent: z.string(),
  model: z.string().nullable(),
  cwd: z.string(),
  metadata: jsonColumn(z.record(z.string(), z.string())),
  persona: z.string().nullable(),
  created_at: z.number(),
  /** The tools that it may use of its agent's; null for all of them. */
  tools: jsonColumn(z.array(z.string()).nullable()),
  /** The session that this one is a fork of. */
  parent: jsonColumn(z.object({ session: z.string(), at_seq: z.number().int() }).nullable()),
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
  /** By the turns that have ended. */
  spent: Spend;
  /** How often the open turn was taken over by another life of the object; null where it never was. */
  resumed: Resumed | null;
  /** Who cancelled which turn, from the acknowledgement to the turn's end: a crash between the two changes nothing. */
  cancel: Cancelled | null;
}

const resumed = z.object({
  turn: z.number().int(),
  total: z.number().int(),
  /** Without an answer or a result in between. */
  inRow: z.number().int(),
  /** Answers and results of the turn when the newest takeover was counted. */
  progress: z.number().int(),
});
export type Resumed = z.infer<typeof resumed>;

const cancelled = z.object({
  turn: z.number().int(),
  by: z.string(),
  /** Messages that the turn was about to take: they go with it. What is admitted later does not. */
  claimed: z.array(z.string()).default([]),
});
export type Cancelled = z.infer<typeof cancelled>;

export const NO_SPEND: Spend = { steps: 0, tool_calls: 0, wall_ms: 0, tokens: 0, micro_usd: 0 };
const stateColumns = {
  spent: jsonColumn(spend.nullable()),
  resumed: jsonColumn(resumed.nullable()),
  cancel: jsonColumn(cancelled.nullable()),
};

export function readIdentity(sql: SqlPort): Identity | null {
  const [row] = sql.all('SELECT * FROM session');
  return row ? identityRow.parse(row) : null;
}

/** Where the session is listed, and whether it is being erased: readable whatever else is damaged. */
export function readPlace(sql: SqlPort): { directory: string; id: string; erasing: boolean } | null {
  type Row = { directory: string; id: string; erasing: number };
  const [row] = sql.all<Row>('SELECT directory, id, erasing FROM session');
  return row ? { ...row, erasing: row.erasing === 1 } : null;
}

export function markErasing(sql: SqlPort): void {
  sql.run('UPDATE session SET erasing = 1');
}

export function writeIdentity(
  sql: SqlPort,
  input: CreateSession,
  agent: string,
  cwd: string,
  now: number,
  parent: Identity['parent'] = null,
): void {
  sql.run(
    `INSERT INTO session (one, tenant, directory, id, agent, model, cwd, metadata, persona, created_at, parent, tools)
    VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    input.tenant,
    input.directory,
    input.id,
    agent,
    input.model,
    cwd,
    JSON.stringify(input.metadata),
    input.persona,
    now,
    JSON.stringify(parent),
    JSON.stringify(input.tools),
  );
  sql.run(
    'INSERT INTO state (one, turns, open_turn_seq, header_seq, listed, usage) VALUES (1, 0, 0, 0, 0, ?)',
    JSON.stringify(NO_USAGE),
  );
}

export function readState(sql: SqlPort): SessionState {
  type Row = {
    turns: number;
    open_turn_seq: number;
    header_seq: number;
    listed: number;
    usage: string;
    spent: string;
    resumed: string;
    cancel: string;
  };
  const [row] = sql.all<Row>('SELECT * FROM state');
  if (!row) throw new Error('the state row is missing');
  return {
    turns: row.turns,
    openTurnSeq: row.open_turn_seq as Seq | 0,
    headerSeq: row.header_seq as Seq | 0,
    listed: row.listed === 1,
    usage: usage.parse(JSON.parse(row.usage)),
    spent: stateColumns.spent.parse(row.spent) ?? NO_SPEND,
    resumed: stateColumns.resumed.parse(row.resumed),
    cancel: stateColumns.cancel.parse(row.cancel),
  };
}

export function writeState(sql: SqlPort, state: SessionState): void {
  sql.run(
    `UPDATE state SET turns = ?, open_turn_seq = ?, header_seq = ?, listed = ?, usage = ?,
      spent = ?, resumed = ?, cancel = ?`,
    state.turns,
    state.openTurnSeq,
    state.headerSeq,
    state.listed ? 1 : 0,
    JSON.stringify(state.usage),
    JSON.stringify(state.spent),
    JSON.stringify(state.resumed),
    JSON.stringify(state.cancel),
  );
}
