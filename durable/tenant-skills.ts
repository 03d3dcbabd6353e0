/**
 * A tenant's own skills. The rows in its directory are the truth; what is in KV is their published copy, written by one
 * change after the other, so that changes at the same time never lose each other. A change whose copy could not be
 * written is kept, and the directory's alarm publishes it.
 */
import { z } from 'zod';
import { skillLimitReached, skillPublishFailed, skillUnknown } from './errors.ts';
import type { Paged, PutSkill, SeqPage, SkillAuditEvent, SkillChange } from './rpc.ts';
import { skillAuditEvent } from './rpc.ts';
import {
  buildManifest,
  bundlePointer,
  contentKey,
  manifest,
  manifestKey,
  pointTo,
  type SkillEntry,
  tenantPointerKey,
} from './skills/index.ts';
import type { SqlPort } from './storage/index.ts';

/** A session's step reads the whole list, and a catalog of more serves no model. */
const MAX_SKILLS = 100;
/** Of all files of all skills together: eight of the largest there may be. */
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/** KV takes one write a second to one key, and refuses the next. */
const KV_RETRY_MS = 1_100;
const KV_ATTEMPTS = 3;

export const TENANT_SKILL_TABLES = `
  CREATE TABLE skills (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL, bytes INTEGER NOT NULL, entry TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE skill_release (
    one INTEGER PRIMARY KEY CHECK (one = 1), tenant TEXT NOT NULL, manifest TEXT, is_published INTEGER NOT NULL,
    pointer TEXT
  );
  CREATE TABLE skill_audit (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL,
    digest_before TEXT, digest_after TEXT, manifest_before TEXT, manifest_after TEXT NOT NULL
  );`;

export interface TenantSkills {
  /** Throws `skill_limit_reached` and `skill_publish_failed`. */
  put: (change: PutSkill) => Promise<SkillChange>;
  /** Throws `skill_unknown` and `skill_publish_failed`. */
  remove: (change: { tenant: string; by: string; name: string }) => Promise<SkillChange>;
  /** Publishes what a failure or a restart left behind. Throws `skill_publish_failed`. */
  publishPending: () => Promise<void>;
  audit: (page: SeqPage) => Paged<SkillAuditEvent>;
}

export interface TenantSkillsOptions {
  sql: SqlPort;
  kv: Pick<KVNamespace, 'put'>;
  now: () => number;
  wait: (ms: number) => Promise<void>;
  /** The alarm that publishes a change whose writer was stopped: part of the block of writes that makes the change. */
  alarm: { arm: () => void; disarm: () => void };
}

interface Edit {
  tenant: string;
  by: string;
  name: string;
  /** Null removes the skill. */
  entry: SkillEntry | null;
}

export function createTenantSkills(options: TenantSkillsOptions): TenantSkills {
  const { sql, alarm } = options;
  let last: Promise<unknown> = Promise.resolve();
  /** One after the other, in the order of arrival; a failure is its caller's and stops nobody behind it. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  const apply = (edit: Edit): Promise<SkillChange> =>
    inTurn(async () => {
      const change = sql.atomically(() => commitEdit(options, edit));
      await publish(options);
      return change;
    });
  return {
    async put({ tenant, by, entry, contents }) {
      checkLimits(sql, entry);
      await storeContents(options, contents);
      return apply({ tenant, by, name: entry.name, entry });
    },
    remove: ({ tenant, by, name }) => apply({ tenant, by, name, entry: null }),
    publishPending: () =>
      inTurn(async () => {
        if (readRelease(sql)?.is_published === 0) await publish(options);
        else alarm.disarm();
      }),
    audit: (page) => pageAudit(sql, page),
  };
}

/** Part of one block of writes. A skill that is there already, to the byte, is no change but is published again. */
function commitEdit({ sql, now, alarm }: TenantSkillsOptions, edit: Edit): SkillChange {
  const { tenant, by, name, entry } = edit;
  const before = findDigest(sql, name);
  const manifestBefore = readRelease(sql)?.manifest ?? null;
  if (entry === null) {
    if (before === null) throw skillUnknown(`You have no skill "${name}" of your own.`, { name });
    sql.run('DELETE FROM skills WHERE name = ?', name);
  } else {
    checkLimits(sql, entry);
    sql.run(
      'INSERT OR REPLACE INTO skills (name, digest, bytes, entry) VALUES (?, ?, ?, ?)',
      name,
      entry.digest,
      measureSkill(entry),
      JSON.stringify(entry),
    );
  }
  const { digest: after } = buildManifest(readEntries(sql));
  sql.run(
    `INSERT INTO skill_release (one, tenant, manifest, is_published) VALUES (1, ?, ?, 0)
     ON CONFLICT (one) DO UPDATE SET manifest = excluded.manifest, is_published = 0`,
    tenant,
    after,
  );
  alarm.arm();
  if (before !== (entry?.digest ?? null)) {
    sql.run(
      `INSERT INTO skill_audit (at, by, action, name, digest_before, digest_after, manifest_before, manifest_after)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      now(),
      by,
      entry === null ? 'delete' : 'put',
      name,
      before,
      entry?.digest ?? null,
      manifestBefore,
      after,
    );
  }
  return { manifest: after, before };
}

/** The manifest, then the pointer. The contents are there: a change is committed after they were stored. */
async function publish(options: TenantSkillsOptions): Promise<void> {
  const { sql, now, alarm } = options;
  const release = readRelease(sql);
  if (release === null) return;
  const { digest, text } = buildManifest(readEntries(sql));
  const before = release.pointer === null ? null : bundlePointer.parse(JSON.parse(release.pointer));
  const pointer = JSON.stringify(pointTo(digest, { before, at: now() }));
  await store(options, manifestKey(digest), text);
  await store(options, tenantPointerKey(release.tenant), pointer);
  sql.run('UPDATE skill_release SET is_published = 1, pointer = ?', pointer);
  alarm.disarm();
}

async function storeContents(options: TenantSkillsOptions, contents: PutSkill['contents']): Promise<void> {
  await Promise.all(contents.map(({ digest, bytes }) => store(options, contentKey(digest), bytes)));
}

async function store(
  { kv, wait }: TenantSkillsOptions,
  key: string,
  value: string | Uint8Array,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await kv.put(key, value);
    } catch {
      // KV's own message says nothing that a caller could act on.
      if (attempt === KV_ATTEMPTS) {
        throw skillPublishFailed(
          'The store of skills does not take writes for now. Send the request again; a change that was taken is published as soon as it does.',
        );
      }
      await wait(KV_RETRY_MS);
    }
  }
}

/** Throws `skill_limit_reached` where the tenant would have too much with this skill. */
function checkLimits(sql: SqlPort, entry: SkillEntry): void {
  const [others] = sql.all<{ count: number; bytes: number | null }>(
    'SELECT count(*) AS count, sum(bytes) AS bytes FROM skills WHERE name <> ?',
    entry.name,
  );
  if ((others?.count ?? 0) >= MAX_SKILLS) {
    throw skillLimitReached(`A tenant may have ${MAX_SKILLS} skills of its own.`, { skills: MAX_SKILLS });
  }
  const bytes = (others?.bytes ?? 0) + measureSkill(entry);
  if (bytes <= MAX_TOTAL_BYTES) return;
  throw skillLimitReached(
    `The tenant's skills would have ${bytes} bytes together; ${MAX_TOTAL_BYTES} are allowed.`,
    { bytes: MAX_TOTAL_BYTES },
  );
}

function measureSkill({ bytes, resources }: SkillEntry): number {
  return resources.reduce((sum, resource) => sum + resource.bytes, bytes);
}

function findDigest(sql: SqlPort, name: string): string | null {
  return sql.all<{ digest: string }>('SELECT digest FROM skills WHERE name = ?', name)[0]?.digest ?? null;
}

function readEntries(sql: SqlPort): SkillEntry[] {
  const rows = sql.all<{ entry: string }>('SELECT entry FROM skills ORDER BY name');
  return manifest.parse({ version: 1, skills: rows.map(({ entry }) => JSON.parse(entry)) }).skills;
}

type Release = { tenant: string; manifest: string | null; is_published: number; pointer: string | null };

function readRelease(sql: SqlPort): Release | null {
  return sql.all<Release>('SELECT tenant, manifest, is_published, pointer FROM skill_release')[0] ?? null;
}

function pageAudit(sql: SqlPort, { limit, after }: SeqPage): Paged<SkillAuditEvent> {
  const rows = sql.all(
    'SELECT * FROM skill_audit WHERE seq < ? ORDER BY seq DESC LIMIT ?',
    after ?? Number.MAX_SAFE_INTEGER,
    limit + 1,
  );
  const data = z.array(skillAuditEvent).parse(rows.slice(0, limit));
  return { data, next: rows.length > limit ? (data.at(-1)?.seq ?? null) : null };
}
