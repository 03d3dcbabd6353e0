/** The directory's record of skills: which turn of which session used which release of a skill. */
import { z } from 'zod';
import { type Paged, type SeqPage, type SkillUsage, type SkillUse, skillUsage } from './rpc.ts';
import type { SqlPort } from './storage/index.ts';

export const SKILL_USAGE_TABLES = `
  CREATE TABLE skill_usage (
    seq INTEGER PRIMARY KEY, name TEXT NOT NULL, session TEXT NOT NULL, turn INTEGER NOT NULL, how TEXT NOT NULL,
    digest TEXT NOT NULL, at INTEGER NOT NULL, manifest TEXT, tenant_manifest TEXT,
    UNIQUE (name, session, turn, how, digest)
  );
  CREATE INDEX skill_usage_by_name ON skill_usage (name);`;

/** A year and a month, so that the same month of the year before can be looked at. */
const USAGE_LIFETIME_MS = 396 * 24 * 60 * 60 * 1000;
/** Old rows that one telling clears away: more than it commonly adds, so that they never pile up. */
const ROWS_CLEARED = 20;

/** A use that was told before stays one row. It outlives its session, of which it holds the id alone. */
export function recordUses(sql: SqlPort, session: string, uses: readonly SkillUse[], now: number): void {
  sql.run(
    `DELETE FROM skill_usage WHERE at < ? AND seq IN (SELECT seq FROM skill_usage ORDER BY seq LIMIT ${ROWS_CLEARED})`,
    now - USAGE_LIFETIME_MS,
  );
  for (const { name, turn, at, how, digest, manifest, tenant_manifest } of uses) {
    sql.run(
      `INSERT INTO skill_usage (name, session, turn, how, digest, at, manifest, tenant_manifest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET
         at = excluded.at, manifest = excluded.manifest, tenant_manifest = excluded.tenant_manifest`,
      name,
      session,
      turn,
      how,
      digest,
      at,
      manifest,
      tenant_manifest,
    );
  }
}

const row = skillUsage.extend({ seq: z.number() });

export function listUses(sql: SqlPort, name: string, { limit, after }: SeqPage): Paged<SkillUsage> {
  const rows = z
    .array(row)
    .parse(
      sql.all(
        'SELECT * FROM skill_usage WHERE name = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
        name,
        after ?? Number.MAX_SAFE_INTEGER,
        limit + 1,
      ),
    );
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return { data: page.map(({ seq: _, ...use }) => use), next };
}
