/**
 * One object a tenant: the list of its sessions, which session an Idempotency-Key made, its own skills, and which turns
 * used which skills. It stands beside the sessions: where it fails, they go on.
 */
import { DurableObject } from 'cloudflare:workers';
import { type Outcome, PerchError, toErrorData } from './errors.ts';
import { waitWithTimer } from './models/index.ts';
import type {
  DirectoryRpc,
  IdempotencyClaim,
  Paged,
  PutSkill,
  SeqPage,
  SessionListing,
  SkillAuditEvent,
  SkillChange,
  SkillUsage,
  SkillUse,
} from './rpc.ts';
import { sessionListing } from './rpc.ts';
import { listUses, recordUses, SKILL_USAGE_TABLES } from './skill-usage.ts';
import { createSqlPort, type SqlPort } from './storage/index.ts';
import { createTenantSkills, TENANT_SKILL_TABLES, type TenantSkills } from './tenant-skills.ts';

interface DirectoryEnv {
  SKILLS: KVNamespace;
}

/**
 * | table | holds | lifetime |
 * |---|---|---|
 * | `schema` | how many migrations have run | |
 * | `sessions` | a listing as the API shows it; `metadata` is JSON | until the session is erased |
 * | `claims` | the session that an Idempotency-Key made, and the digest of its body | `CLAIM_LIFETIME_MS` |
 * | `skills` | the tenant's own skills; `entry` is JSON | until the skill is deleted |
 * | `skill_release` | the manifest of those skills, the pointer in KV, and whether it is up to date; one row | |
 * | `skill_audit` | each change of a skill: who, what, when | for ever |
 * | `skill_usage` | which skill a turn used, of which release | see `skill-usage.ts` |
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
  TENANT_SKILL_TABLES + SKILL_USAGE_TABLES,
];

/** Longer than any client retries. */
const CLAIM_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
/** Expired claims that one new claim clears away: more than one, so that they never pile up. */
const CLAIMS_CLEARED = 10;

/** How soon a change of skills is published whose writer was stopped, and how often it is tried again. */
const PUBLISH_RETRY_MS = 30_000;

/** Before every session: the cursor of the first page. */
const NEWEST = `${Number.MAX_SAFE_INTEGER}.`;

export class Directory extends DurableObject<DirectoryEnv> implements DirectoryRpc {
  private readonly sql: SqlStorage;
  private readonly port: SqlPort;
  private readonly skills: TenantSkills;

  constructor(state: DurableObjectState, env: DirectoryEnv) {
    super(state, env);
    this.sql = state.storage.sql;
    migrate(this.sql);
    this.port = createSqlPort(state.storage);
    this.skills = createTenantSkills({
      sql: this.port,
      kv: env.SKILLS,
      now: Date.now,
      wait: (ms) => waitWithTimer(ms).done,
      alarm: createAlarm(state.storage),
    });
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

  putSkill(change: PutSkill): Promise<Outcome<SkillChange>> {
    return answer(() => this.skills.put(change));
  }

  deleteSkill(change: { tenant: string; by: string; name: string }): Promise<Outcome<SkillChange>> {
    return answer(() => this.skills.remove(change));
  }

  async auditSkills(page: SeqPage): Promise<Paged<SkillAuditEvent>> {
    return this.skills.audit(page);
  }

  async recordUses(session: string, uses: readonly SkillUse[]): Promise<void> {
    recordUses(this.port, session, uses, Date.now());
  }

  async listUses(name: string, page: SeqPage): Promise<Paged<SkillUsage>> {
    return listUses(this.port, name, page);
  }

  /** The stored alarm is gone when its handler runs, so the next one is armed before anything can fail. */
  override async alarm(): Promise<void> {
    createAlarm(this.ctx.storage).arm();
    await answer(() => this.skills.publishPending());
  }
}

function createAlarm(storage: DurableObjectStorage): { arm: () => void; disarm: () => void } {
  // A failed alarm write breaks the output gate and restarts the object, so its promise says nothing more.
  const ignore = (): undefined => undefined;
  return {
    arm: () => void storage.setAlarm(Date.now() + PUBLISH_RETRY_MS).catch(ignore),
    disarm: () => void storage.deleteAlarm().catch(ignore),
  };
}

async function answer<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    const data = toErrorData(error);
    const detail = error instanceof PerchError ? data.code : String(error);
    if (data.status >= 500) {
      console.error(JSON.stringify({ level: 'error', msg: 'directory failed', detail }));
    }
    return { ok: false, error: data };
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
