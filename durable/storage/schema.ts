/**
 * The session object's database, whole and versioned. A change is a new entry at the end of MIGRATIONS, never an edit
 * of one that shipped; `migrate` runs those that the object has not had.
 *
 * | table    | holds                                            | lifetime                                     |
 * |----------|--------------------------------------------------|----------------------------------------------|
 * | schema   | the version, one row                             | the session's                                |
 * | session  | who and what this session is, one row            | the session's; marked when it is erased      |
 * | state    | whether a turn is open, and counters, one row    | the session's; updated at a turn's two ends  |
 * | events   | the log, `seq` from 1 without a gap              | the session's; never updated but by a repair |
 * | surface  | ranges of `seq` that the model sees, in order    | appends cost no row: the last range is open  |
 * | inbox    | admitted messages that no step has claimed       | until claimed or discarded                   |
 * | receipts | answers to requests with an Idempotency-Key      | the session's                                |
 * | stream   | text of the answer that is being streamed        | until the answer is committed                |
 * | blobs    | bytes by SHA-256, in parts of at most 1 MB       | the session's                                |
 * | uses     | skills that a turn used, JSON, one row a turn    | until the tenant's directory has them        |
 * | files, file_parts, file_totals | the workspace: see `workspace/tables.ts` | until removed                         |
 */
import { WORKSPACE_TABLES } from '../workspace/index.ts';
import type { SqlPort } from './sql.ts';

/**
 * The message that an event admits or discards. Queries must repeat both texts for the index to serve them. A row that is
 * no JSON has none: it must not stop the index from being made.
 */
export const FATE_KEY =
  "CASE WHEN json_valid(data) THEN coalesce(json_extract(data, '$.message.id'), json_extract(data, '$.message')) END";
export const FATE_TYPES = "type IN ('inbox/admitted', 'inbox/discarded')";

/** The approval that an event asks for or decides; used as `FATE_KEY` is. */
export const APPROVAL_KEY = "CASE WHEN json_valid(data) THEN json_extract(data, '$.approval') END";
export const APPROVAL_TYPES = "type IN ('approval/requested', 'approval/resolved')";

const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE session (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      tenant TEXT NOT NULL,
      directory TEXT NOT NULL,
      id TEXT NOT NULL,
      agent TEXT NOT NULL,
      model TEXT,
      cwd TEXT NOT NULL,
      metadata TEXT NOT NULL,
      persona TEXT,
      created_at INTEGER NOT NULL
    )`,
    `CREATE TABLE state (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      turns INTEGER NOT NULL,
      open_turn_seq INTEGER NOT NULL,
      header_seq INTEGER NOT NULL,
      listed INTEGER NOT NULL,
      usage TEXT NOT NULL
    )`,
    `CREATE TABLE events (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      data TEXT NOT NULL
    )`,
    `CREATE TABLE surface (
      ordinal INTEGER PRIMARY KEY,
      first INTEGER NOT NULL,
      last INTEGER
    )`,
    `CREATE TABLE inbox (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      queue TEXT NOT NULL,
      wakes INTEGER NOT NULL,
      message TEXT NOT NULL
    )`,
    `CREATE TABLE receipts (
      key TEXT PRIMARY KEY,
      digest TEXT NOT NULL,
      receipt TEXT NOT NULL,
      at INTEGER NOT NULL
    ) WITHOUT ROWID`,
    `CREATE TABLE stream (
      id INTEGER PRIMARY KEY,
      turn INTEGER NOT NULL,
      step INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      kind TEXT NOT NULL,
      start INTEGER NOT NULL,
      text TEXT NOT NULL
    )`,
    `CREATE TABLE blobs (
      digest TEXT NOT NULL,
      part INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (digest, part)
    ) WITHOUT ROWID`,
    'INSERT INTO surface (ordinal, first, last) VALUES (1, 1, NULL)',
  ],
  ['CREATE TABLE uses (turn INTEGER PRIMARY KEY, uses TEXT NOT NULL)'],
  [
    "ALTER TABLE state ADD COLUMN spent TEXT NOT NULL DEFAULT 'null'",
    "ALTER TABLE state ADD COLUMN resumed TEXT NOT NULL DEFAULT 'null'",
    "ALTER TABLE state ADD COLUMN cancel TEXT NOT NULL DEFAULT 'null'",
    "ALTER TABLE session ADD COLUMN parent TEXT NOT NULL DEFAULT 'null'",
  ],
  [
    'ALTER TABLE session ADD COLUMN erasing INTEGER NOT NULL DEFAULT 0',
    // What became of a message, without a search: a row more for each that is admitted or discarded, none for others.
    `CREATE INDEX message_fates ON events (${FATE_KEY}) WHERE ${FATE_TYPES}`,
  ],
  [
    ...WORKSPACE_TABLES,
    "ALTER TABLE session ADD COLUMN tools TEXT NOT NULL DEFAULT 'null'",
    `CREATE INDEX approvals ON events (${APPROVAL_KEY}) WHERE ${APPROVAL_TYPES}`,
  ],
];

/** Whether anything was ever stored here. Asking stores nothing, so a probe for a session leaves no trace. */
export function isInitialised(sql: SqlPort): boolean {
  return sql.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema'").length > 0;
}

/** Brings the database to the newest version; an object of the newest version costs one read. */
export function migrate(sql: SqlPort): void {
  sql.atomically(() => {
    if (!isInitialised(sql)) {
      sql.run('CREATE TABLE schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)');
      sql.run('INSERT INTO schema (one, version) VALUES (1, 0)');
    }
    const version = sql.all<{ version: number }>('SELECT version FROM schema')[0]?.version ?? 0;
    if (version === MIGRATIONS.length) return;
    for (const migration of MIGRATIONS.slice(version)) for (const statement of migration) sql.run(statement);
    sql.run('UPDATE schema SET version = ?', MIGRATIONS.length);
  });
}

/** Empties what an unfinished copy of another session may have written: the database is then as `migrate` makes it. */
export function clearRows(sql: SqlPort): void {
  const isEmpty = ['events', 'blobs'].every(
    (table) => sql.all(`SELECT 1 FROM ${table} LIMIT 1`).length === 0,
  );
  if (isEmpty) return;
  for (const table of ['events', 'blobs', 'surface']) sql.run(`DELETE FROM ${table}`);
  sql.run('INSERT INTO surface (ordinal, first, last) VALUES (1, 1, NULL)');
}
