/** All that can be known of a session from outside: its rows, what it answers, what the world saw of it. */
import { runInDurableObject } from 'cloudflare:test';
import { z } from 'zod';
import { readIdentity, readState, type SessionState } from '../../durable/storage/session-rows.ts';
import { createSqlPort } from '../../durable/storage/sql.ts';
import { eventBody, type LogEvent, type Seq } from '../../durable/transcript/events.ts';
import { sessionStub } from '../support/perch.ts';
import type { Client, Ledger } from './client.ts';
import { type Birth, findWork, listTables } from './lives.ts';
import type { Outside } from './outside.ts';

/** The object's storage as it is; null where there is no session. */
export interface Rows {
  events: LogEvent[];
  blobs: ReadonlyMap<string, Uint8Array>;
  state: SessionState;
  /** Of a fork. */
  parent: { session: string; at_seq: number } | null;
  /** Ids of what waits, in order. */
  inbox: string[];
  surface: { first: number; last: number | null }[];
  streamRows: number;
  keys: number;
}

export interface Evidence {
  rows: Rows | null;
  /** Every table that is left, by its number of rows; with the alarm. */
  alarm: number | null;
  tables: string[];
  ledger: Ledger;
  outside: Outside;
  births: readonly Birth[];
  /** Answers of the object that lived through it, and of one that was opened for the question. */
  live: Answers | null;
  fresh: Answers | null;
  /** The last seq that a fork shares with its parent, whose effects are the parent's; 0 elsewhere. */
  ownAfter: number;
}

export interface Answers {
  view: unknown;
  /** What the next request would hold. */
  prompt: string;
}

/** Where a session stands, without a word to its own code. */
export interface Standing {
  /** What there is left to do by itself, in words; null where it is idle. */
  work: string | null;
  alarm: number | null;
}

const rpc = z.object({ ok: z.boolean(), value: z.unknown().optional() });
/** The methods that are asked, of the stub's many. */
interface Asked {
  view: () => Promise<unknown>;
  prompt: (at: null, since: null) => Promise<unknown>;
}

export function readStanding({ perch, session }: Client): Promise<Standing> {
  return runInDurableObject(sessionStub(perch, session), async (_, { storage }) => ({
    alarm: await storage.getAlarm(),
    work: findWork(storage.sql),
  }));
}

export function readRows({ perch, session }: Client): Promise<Pick<Evidence, 'rows' | 'alarm' | 'tables'>> {
  return runInDurableObject(sessionStub(perch, session), async (_, { storage }) => {
    const tables = listTables(storage.sql);
    const alarm = await storage.getAlarm();
    return { alarm, tables, rows: tables.includes('state') ? toRows(storage) : null };
  });
}

function toRows(storage: DurableObjectStorage): Rows {
  const { sql } = storage;
  const count = (table: string): number =>
    sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;
  const blobs = readBlobs(sql);
  return {
    blobs,
    events: sql
      .exec<{ seq: number; at: number; data: string }>('SELECT seq, at, data FROM events ORDER BY seq')
      .toArray()
      .map(({ seq, at, data }) => ({ ...eventBody.parse(JSON.parse(data)), seq: seq as Seq, at })),
    state: readState(createSqlPort(storage)),
    parent: readIdentity(createSqlPort(storage))?.parent ?? null,
    inbox: sql
      .exec<{ id: string }>('SELECT id FROM inbox ORDER BY position')
      .toArray()
      .map(({ id }) => id),
    surface: sql
      .exec<{ first: number; last: number | null }>('SELECT first, last FROM surface ORDER BY ordinal')
      .toArray(),
    streamRows: count('stream'),
    keys: count('receipts'),
  };
}

function readBlobs(sql: SqlStorage): Map<string, Uint8Array> {
  const parts = new Map<string, Uint8Array[]>();
  for (const { digest, bytes } of sql.exec<{ digest: string; bytes: ArrayBuffer }>(
    'SELECT digest, bytes FROM blobs ORDER BY digest, part',
  )) {
    parts.set(digest, [...(parts.get(digest) ?? []), new Uint8Array(bytes)]);
  }
  return new Map(
    [...parts].map(([digest, list]) => [digest, Uint8Array.from(list.flatMap((part) => [...part]))]),
  );
}

export async function readAnswers({ perch, session }: Client): Promise<Answers | null> {
  // The stub has the class's methods; which these are is the object's own affair.
  const stub = sessionStub(perch, session) as unknown as Asked;
  const view = rpc.parse(await stub.view());
  if (!view.ok) return null;
  const prompt = rpc.parse(await stub.prompt(null, null));
  return { view: view.value, prompt: JSON.stringify(prompt.value) };
}
