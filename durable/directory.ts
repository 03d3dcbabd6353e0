/**
 * One object a tenant: the list of its sessions, and which session an Idempotency-Key made. It stands beside the
 * sessions: where it fails, they go on.
 */
import { DurableObject } from 'cloudflare:workers';
import type { DirectoryRpc, IdempotencyClaim, SessionListing } from './rpc.ts';
import { sessionListing } from './rpc.ts';

/**
 * | table | holds | lifetime |
 * |---|---|---|
 * | `schema` | how many migrations have run | |
 * | `sessions` | a listing as the API shows it; `metadata` is JSON | until the session is erased |
 * | `claims` | the session that an Idempotency-Key made, and the digest of its body | `CLAIM_LIFETIME_MS` |
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE sessions (
     id TEXT PRIMARY KEY, agent TEXT NOT NULL, created_at INTEGER NOT NULL, metadata TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX sessions_by_age ON sessions (created_at, id);
   CREATE TABLE claims (
     key TEXT PRIMARY KEY, digest TEXT NOT NULL, session TEXT NOT NULL, at INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX claims_by_age ON claims (at);`,
];

/** Longer than any client retries. */
const CLAIM_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
/** Expired claims that one new claim clears away: more than one, so that they never pile up. */
const CLAIMS_CLEARED = 10;

/** Before every session: the cursor of the first page. */
const NEWEST = `${Number.MAX_SAFE_INTEGER}.`;

export class Directory extends DurableObject implements DirectoryRpc {
  private readonly sql: SqlStorage;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.sql = state.storage.sql;
    migrate(this.sql);
  }

  async add({ id, agent, created_at, metadata }: SessionListing): Promise<void> {
    this.sql.exec(
      'INSERT INTO sessions (id, agent, created_at, metadata) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
      id,
      agent,
      created_at,
      JSON.stringify(metadata),
    );
  }

  async remove(id: string): Promise<void> {
    this.sql.exec('DELETE FROM sessions WHERE id = ?', id);
  }

  async list(page: { limit: number; after: string | null }): ReturnType<DirectoryRpc['list']> {
    const { createdAt, id } = parseCursor(page.after ?? NEWEST);
    const rows = this.sql
      .exec(
        `SELECT id, agent, created_at, metadata FROM sessions WHERE (created_at, id) < (?, ?)
         ORDER BY created_at DESC, id DESC LIMIT ?`,
        createdAt,
        id,
        page.limit + 1,
      )
      .toArray();
    const data = rows.slice(0, page.limit).map(readListing);
    const last = data.at(-1);
    const next = rows.length > page.limit && last !== undefined ? `${last.created_at}.${last.id}` : null;
    return { data, next };
  }

  async claimKey({ key, digest }: IdempotencyClaim, session: string): Promise<string | null> {
    const now = Date.now();
    this.sql.exec(
      `DELETE FROM claims WHERE key IN (SELECT key FROM claims WHERE at < ? ORDER BY at LIMIT ${CLAIMS_CLEARED})`,
      now - CLAIM_LIFETIME_MS,
    );
    const known = this.sql
      .exec<{ digest: string; session: string }>('SELECT digest, session FROM claims WHERE key = ?', key)
      .toArray()[0];
    if (known !== undefined) return known.digest === digest ? known.session : null;
    this.sql.exec(
      'INSERT INTO claims (key, digest, session, at) VALUES (?, ?, ?, ?)',
      key,
      digest,
      session,
      now,
    );
    return session;
  }
}

function migrate(sql: SqlStorage): void {
  sql.exec('CREATE TABLE IF NOT EXISTS schema (version INTEGER NOT NULL)');
  const version = sql.exec<{ version: number }>('SELECT version FROM schema').toArray()[0]?.version ?? 0;
  if (version === MIGRATIONS.length) return;
  for (const migration of MIGRATIONS.slice(version)) sql.exec(migration);
  sql.exec('DELETE FROM schema');
  sql.exec('INSERT INTO schema (version) VALUES (?)', MIGRATIONS.length);
}

/** `<created_at>.<id>` of the last listing before the page: it holds even where that session is erased since. */
function parseCursor(cursor: string): { createdAt: number; id: string } {
  const dot = cursor.indexOf('.');
  return { createdAt: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

function readListing(row: Record<string, SqlStorageValue>): SessionListing {
  return sessionListing.parse({ ...row, metadata: JSON.parse(String(row['metadata'])) });
}
