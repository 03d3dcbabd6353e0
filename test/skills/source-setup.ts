/** A source over KV in memory, with a clock that a test sets. */
import { tenantPointerKey } from '../../durable/skills/manifest.ts';
import { createSkillSource } from '../../durable/skills/source.ts';
import { MemoryKv } from './memory-kv.ts';

export const SCOPE = { tenant: 't', session: null };
export const TENANT_KEY = tenantPointerKey('t');

export function setUp({ freshMs = 1000, cacheBytes }: { freshMs?: number; cacheBytes?: number } = {}) {
  const kv = new MemoryKv();
  const clock = { at: 1_000_000 };
  const source = createSkillSource({
    kv,
    freshMs,
    now: () => clock.at,
    ...(cacheBytes === undefined ? {} : { cacheBytes }),
  });
  return { kv, clock, source };
}
