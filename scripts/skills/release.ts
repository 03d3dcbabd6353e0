/** `npm run skills:list | skills:rollback | skills:diff | skills:promote | skills:canary | skills:gc`: see `USAGE`. */
import { parseArgs } from 'node:util';
import { contentKey } from '../../durable/skills/manifest.ts';
import { bundleSkills } from './bundle.ts';
import { createBodyReader, diffReleases, formatChanges, type Release } from './diff.ts';
import { collectGarbage, GRACE_MS, KEEP_RELEASES } from './gc.ts';
import { parseCount, parsePercent, readPlace } from './place.ts';
import { listReleases, promoteCanary, readRelease, resolveRelease, rollBack, setCanary } from './releases.ts';
import { DEFAULT_STATE, type SkillStore, withStore } from './store.ts';
import { formatTable } from './table.ts';

const USAGE = `npm run skills:list                          the releases that are known
npm run skills:rollback -- [RELEASE]         back to a release (without one: the one before), for everybody
npm run skills:diff -- [A [B]]               what changed from A (without one: current) to B (without one: --dir)
npm run skills:promote                       the canary becomes the current release
npm run skills:canary -- PERCENT | off       changes the canary's share, or ends it
npm run skills:gc -- [--keep N] [--grace-days N] [--dry-run]
RELEASE, A, B: current, previous, canary, or the beginning of a manifest's digest.
Each with [--remote] or [--persist-to DIR].`;

const DAY_MS = 24 * 60 * 60 * 1000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    local: { type: 'boolean', default: false },
    remote: { type: 'boolean', default: false },
    'persist-to': { type: 'string', default: DEFAULT_STATE },
    dir: { type: 'string', default: 'skills' },
    keep: { type: 'string', default: String(KEEP_RELEASES) },
    'grace-days': { type: 'string', default: String(GRACE_MS / DAY_MS) },
    'dry-run': { type: 'boolean', default: false },
  },
});

const [command, first, second] = positionals;
const commands: Record<string, (store: SkillStore) => Promise<string[]>> = {
  list: showReleases,
  rollback: async (store) => {
    const { manifest } = await rollBack(store, first ?? 'previous', Date.now());
    return [`${short(manifest)} is the current release, for everybody.`];
  },
  diff: showDiff,
  promote: async (store) => {
    const { manifest } = await promoteCanary(store, Date.now());
    return [`${short(manifest)} is the current release, for everybody.`];
  },
  canary: async (store) => {
    if (first === undefined) throw new Error(USAGE);
    const { canary } = await setCanary(store, first === 'off' ? 0 : parsePercent(first));
    if (canary === undefined) return ['The canary is over: everybody reads the current release.'];
    return [`${short(canary.manifest)} is read by ${canary.percent} % of the sessions.`];
  },
  gc: showGarbage,
};

try {
  const run = commands[command ?? ''];
  if (run === undefined) throw new Error(USAGE);
  for (const line of await withStore(readPlace(values), run)) console.log(line);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function short(digest: string): string {
  return digest.slice(0, 12);
}

async function showReleases(store: SkillStore): Promise<string[]> {
  const releases = await listReleases(store);
  if (releases.length === 0) return ['Nothing is published.'];
  const rows = releases.map(({ manifest, publishedAt, skills, tokens, marks }) => [
    short(manifest),
    new Date(publishedAt).toISOString().slice(0, 19).replace('T', ' '),
    String(skills ?? '?'),
    String(tokens ?? '?'),
    marks.join(', '),
  ]);
  return formatTable(['release', 'published (UTC)', 'skills', 'tokens', ''], rows);
}

async function showDiff(store: SkillStore): Promise<string[]> {
  const before = await openRelease(store, first ?? 'current');
  const after = second === undefined ? await openFolder(values.dir) : await openRelease(store, second);
  const lines = formatChanges(await diffReleases(before, after));
  return lines.length > 0 ? lines : ['Nothing changed.'];
}

async function openRelease(store: SkillStore, name: string): Promise<Release> {
  const skills = await readRelease(store, await resolveRelease(store, name));
  return {
    skills,
    readBody: createBodyReader(await store.readTexts(skills.map(({ body }) => contentKey(body)))),
  };
}

async function openFolder(dir: string): Promise<Release> {
  const { skills, entries } = await bundleSkills(dir);
  const texts = new Map(entries.map(({ key, bytes }) => [key, new TextDecoder().decode(bytes)]));
  return { skills, readBody: createBodyReader(texts) };
}

async function showGarbage(store: SkillStore): Promise<string[]> {
  const graceMs = parseCount(values['grace-days'], '--grace-days') * DAY_MS;
  const keep = parseCount(values.keep, '--keep');
  const dryRun = values['dry-run'];
  const { kept, waiting, removed, lost } = await collectGarbage(store, {
    keep,
    graceMs,
    dryRun,
    now: Date.now(),
  });
  if (lost.length > 0) process.exitCode = 1;
  return [
    `${dryRun ? 'To remove' : 'Removed'}: ${removed.length}; waiting for the grace time: ${waiting.length}; kept: ${kept}.`,
    ...(lost.length > 0
      ? [`A push named ${lost.length} of them again meanwhile: push that release once more.`]
      : []),
  ];
}
