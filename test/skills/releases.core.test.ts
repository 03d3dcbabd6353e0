import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contentKey, manifestKey, POINTER_KEY } from '../../durable/skills/manifest.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import {
  createBodyReader,
  diffLines,
  diffReleases,
  formatChanges,
  type Release,
} from '../../scripts/skills/diff.ts';
import {
  listReleases,
  promoteCanary,
  publishRelease,
  readPointer,
  readRelease,
  resolveRelease,
  rollBack,
  setCanary,
} from '../../scripts/skills/releases.ts';
import { createCommandStore } from '../../scripts/skills/store.ts';
import { createRandom } from '../support/random.ts';
import { MemoryStore } from './memory-store.ts';
import { digestOf, makeBundle, one, publishAll, three, two } from './sample-releases.ts';

describe('a release', () => {
  it('is written contents first, then its manifest, then its record, and the pointer last', async () => {
    const store = await publishAll(one);
    await publishRelease(store, two);
    expect(store.written.map((key) => key.split('/', 1)[0])).toEqual([
      'content',
      'content',
      'content',
      'manifest',
      'release',
      'bundle',
    ]);
    expect(await readPointer(store)).toEqual({
      manifest: digestOf(two),
      published_at: 2000,
      previous: digestOf(one),
    });
  });

  it('says that there was none before the first, and keeps the one before when it is published again', async () => {
    const store = await publishAll(one);
    expect(await readPointer(store)).toMatchObject({ previous: null });
    await publishRelease(store, two);
    await publishRelease(store, { ...two, pointer: { ...two.pointer, published_at: 2500 } });
    expect(await readPointer(store)).toMatchObject({ published_at: 2500, previous: digestOf(one) });
    expect(await store.listKeys('release/')).toHaveLength(2);
  });

  it('is listed with its size and its marks, newest first', async () => {
    const store = await publishAll(one, two);
    await publishRelease(store, three, { canary: 5 });
    expect(await listReleases(store)).toEqual([
      {
        manifest: digestOf(three),
        publishedAt: 3000,
        skills: 1,
        tokens: expect.any(Number),
        marks: ['canary 5 %'],
      },
      {
        manifest: digestOf(two),
        publishedAt: 2000,
        skills: 2,
        tokens: expect.any(Number),
        marks: ['current'],
      },
      {
        manifest: digestOf(one),
        publishedAt: 1000,
        skills: 2,
        tokens: expect.any(Number),
        marks: ['previous'],
      },
    ]);
  });

  it('is found by the beginning of its digest, and only where that means one', async () => {
    const store = await publishAll(one, two);
    expect(await resolveRelease(store, digestOf(one).slice(0, 8))).toBe(digestOf(one));
    expect(await resolveRelease(store, 'current')).toBe(digestOf(two));
    await expect(resolveRelease(store, '000000000')).rejects.toThrow('no release');
    await expect(resolveRelease(store, 'zz')).rejects.toThrow('at least 6');
    await expect(resolveRelease(store, 'canary')).rejects.toThrow('no canary');
  });
});

describe('a rollback', () => {
  it('is one write of the pointer, to the release before or to one that is named', async () => {
    const store = await publishAll(one, two, three);
    await rollBack(store, 'previous', 4000);
    expect(store.written).toEqual([POINTER_KEY]);
    expect(await readPointer(store)).toEqual({
      manifest: digestOf(two),
      published_at: 4000,
      previous: digestOf(three),
    });
    await rollBack(store, digestOf(one).slice(0, 12), 5000);
    expect(await readPointer(store)).toMatchObject({ manifest: digestOf(one) });
  });

  it('ends a canary', async () => {
    const store = await publishAll(one, two);
    await publishRelease(store, three, { canary: 50 });
    await rollBack(store, 'previous', 4000);
    expect(await readPointer(store)).not.toHaveProperty('canary');
  });

  it('goes nowhere where the release is not whole, not known, or current already', async () => {
    const store = await publishAll(one, two);
    await expect(rollBack(store, 'current', 4000)).rejects.toThrow('current release already');
    store.values.delete(contentKey(sha256Hex('B\n')));
    await expect(rollBack(store, 'previous', 4000)).rejects.toThrow('not whole');
    store.values.delete(manifestKey(digestOf(one)));
    await expect(rollBack(store, 'previous', 4000)).rejects.toThrow('not there');
    expect(store.written).toEqual([]);
  });
});

describe('a canary', () => {
  it('stands beside the current release, changes its share, and is promoted or ended by one write', async () => {
    const store = await publishAll(one);
    await publishRelease(store, two, { canary: 10 });
    const current = { manifest: digestOf(one), published_at: 1000, previous: null };
    const canary = { manifest: digestOf(two), percent: 10, published_at: 2000 };
    expect(await readPointer(store)).toEqual({ ...current, canary });
    store.written = [];
    await setCanary(store, 50);
    expect(await readPointer(store)).toEqual({ ...current, canary: { ...canary, percent: 50 } });
    await setCanary(store, 0);
    expect(await readPointer(store)).toEqual(current);
    await publishRelease(store, two, { canary: 10 });
    store.written = [];
    await promoteCanary(store, 9000);
    expect(store.written).toEqual([POINTER_KEY]);
    expect(await readPointer(store)).toEqual({
      manifest: digestOf(two),
      published_at: 9000,
      previous: digestOf(one),
    });
  });

  it('needs a release beside it, another one, and a share that is one', async () => {
    const store = new MemoryStore();
    await expect(publishRelease(store, one, { canary: 10 })).rejects.toThrow('needs a current release');
    await publishRelease(store, one);
    await expect(publishRelease(store, one, { canary: 10 })).rejects.toThrow('current release already');
    await expect(publishRelease(store, two, { canary: 101 })).rejects.toThrow();
    await expect(promoteCanary(store, 1)).rejects.toThrow('no canary');
    await expect(setCanary(store, 5)).rejects.toThrow('no canary');
  });
});

describe('the difference of two releases', () => {
  const open = ({ skills, entries }: typeof one): Release => ({
    skills,
    readBody: createBodyReader(
      new Map(entries.map(({ key, bytes }) => [key, new TextDecoder().decode(bytes)])),
    ),
  });

  it('names what was added, removed and changed, with lines, tokens, fields and files', async () => {
    const before = makeBundle(
      { alpha: { body: 'a\nb\nc\n', files: { 'x.txt': '1', 'y.txt': '2' } }, beta: 'B\n', same: 'S\n' },
      1,
    );
    const after = makeBundle(
      {
        alpha: { body: 'a\nc\nd\ne\n', files: { 'y.txt': '3', 'z.txt': '4' }, description: 'New' },
        gamma: 'G\nH\n',
        same: 'S\n',
      },
      2,
    );
    const changes = await diffReleases(open(before), open(after));
    expect(changes).toMatchObject([
      {
        name: 'alpha',
        kind: 'changed',
        lines: { added: 2, removed: 1 },
        fields: ['description'],
        files: { added: ['z.txt'], removed: ['x.txt'], changed: ['y.txt'] },
      },
      { name: 'beta', kind: 'removed', lines: { added: 0, removed: 1 } },
      { name: 'gamma', kind: 'added', lines: { added: 2, removed: 0 } },
    ]);
    expect(changes[2]?.tokens).toBe(after.skills.find(({ name }) => name === 'gamma')?.tokens);
    expect(formatChanges(changes)[0]).toMatch(
      /^changed {2}alpha {2}\+2 -1 lines; .*description; files added: z\.txt; files removed: x\.txt; files changed: y\.txt$/,
    );
    expect(await diffReleases(open(before), open(before))).toEqual([]);
  });

  it('counts the lines of a shortest edit, as the longest common part says', () => {
    const random = createRandom(20_261_130);
    for (let round = 0; round < 2000; round++) {
      const make = () => Array.from({ length: random.below(9) }, () => random.pick(['a', 'b', 'c']));
      const [a, b] = [make(), make()];
      const common = measureCommon(a, b);
      const expected = { added: b.length - common, removed: a.length - common };
      expect(diffLines(a.join('\n'), b.join('\n')), `${a.join('')} ${b.join('')}`).toEqual(expected);
    }
  });
});

/** The longest common subsequence, by the table that textbooks draw. */
function measureCommon(a: readonly string[], b: readonly string[]): number {
  const [first, ...restA] = a;
  const [second, ...restB] = b;
  if (first === undefined || second === undefined) return 0;
  if (first === second) return 1 + measureCommon(restA, restB);
  return Math.max(measureCommon(restA, b), measureCommon(a, restB));
}

it('works on an account as on this machine: through the commands of wrangler', {
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perch-store-'));
  try {
    const store = createCommandStore(folder, ['--local', '--persist-to', folder]);
    await publishRelease(store, two);
    expect(await readPointer(store)).toEqual({ ...two.pointer, previous: null });
    expect(await readRelease(store, digestOf(two))).toEqual(two.skills);
    expect(await store.readTexts(['content/none'])).toEqual(new Map());
    await store.remove([POINTER_KEY]);
    expect(await store.listKeys('bundle/')).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
