import { describe, expect, it } from 'vitest';
import {
  bundlePointer,
  contentKey,
  manifestKey,
  POINTER_KEY,
  tenantPointerKey,
} from '../../durable/skills/manifest.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { collectGarbage, GRACE_MS } from '../../scripts/skills/gc.ts';
import { encodeJson, listReleases, publishRelease, rollBack } from '../../scripts/skills/releases.ts';
import type { MemoryStore } from './memory-store.ts';
import { digestOf, makeBundle, one, publishAll, three, two } from './sample-releases.ts';

const marksOf = async (store: MemoryStore) =>
  (await listReleases(store)).map(({ manifest, marks }) => [manifest, marks.join(', ')]);

describe('garbage collection', () => {
  const DAY_MS = 24 * 60 * 60 * 1000;
  const alphaOfOne = contentKey(sha256Hex('A1\n'));

  it('removes what nobody names, and only after it was seen so for the whole grace time', async () => {
    const store = await publishAll(one, two, three);
    const first = await collectGarbage(store, { keep: 1, now: 0 });
    expect(first.removed).toEqual([]);
    expect(first.waiting).toContain(manifestKey(digestOf(one)));
    expect(first.waiting).toContain(alphaOfOne);
    const early = await collectGarbage(store, { keep: 1, now: GRACE_MS - 1 });
    expect(early.removed).toEqual([]);
    expect(store.values.has(alphaOfOne)).toBe(true);
    const due = await collectGarbage(store, { keep: 1, now: GRACE_MS });
    expect(due.removed.map((key) => key.split('/', 1)[0]).sort()).toEqual([
      'content',
      'content',
      'manifest',
      'release',
    ]);
    expect(store.values.has(alphaOfOne)).toBe(false);
    // Current and previous are whole.
    for (const { entries } of [two, three])
      for (const { key } of entries) expect(store.values.has(key)).toBe(true);
    expect(await marksOf(store)).toEqual([
      [digestOf(three), 'current'],
      [digestOf(two), 'previous'],
    ]);
  });

  it('keeps what a session may still read: current, canary, previous, the last releases, every tenant', async () => {
    const store = await publishAll(one, two);
    await publishRelease(store, three, { canary: 10 });
    const theirs = makeBundle({ own: 'OWN\n' }, 1);
    const older = makeBundle({ own: 'OLD\n' }, 0);
    await store.put([
      ...older.entries,
      ...theirs.entries,
      encodeJson(tenantPointerKey('t'), { ...theirs.pointer, previous: digestOf(older) }),
    ]);
    const all = [...store.values.keys()];
    for (const now of [0, 100 * DAY_MS, 200 * DAY_MS]) {
      const report = await collectGarbage(store, { keep: 0, now });
      expect(report).toMatchObject({ removed: [], waiting: [] });
    }
    for (const key of all) expect(store.values.has(key)).toBe(true);
  });

  it('forgets that something had no name when it has one again', async () => {
    const store = await publishAll(one, two, three);
    await collectGarbage(store, { keep: 1, now: 0 });
    await rollBack(store, digestOf(one), 4000);
    await collectGarbage(store, { keep: 1, now: DAY_MS });
    await publishRelease(store, three);
    await publishRelease(store, two);
    const report = await collectGarbage(store, { keep: 1, now: GRACE_MS + DAY_MS - 1 });
    expect(report.removed).toEqual([]);
    expect(store.values.has(alphaOfOne)).toBe(true);
  });

  it('leaves a push in progress alone: contents before their manifest, a manifest before its pointer', async () => {
    const store = await publishAll(one);
    await store.put(two.entries.slice(0, 2));
    await collectGarbage(store, { now: 0 });
    await store.put(two.entries);
    await collectGarbage(store, { now: 1000 });
    await publishRelease(store, two);
    expect((await collectGarbage(store, { now: 2000 })).waiting).toEqual([]);
    for (const { key } of two.entries) expect(store.values.has(key)).toBe(true);
  });

  it('says what a push named again while it was removed', async () => {
    const store = await publishAll(one, two, three);
    await collectGarbage(store, { keep: 1, now: 0 });
    store.beforeRemoval = () => {
      const pointer = bundlePointer.parse({
        manifest: digestOf(three),
        published_at: 1,
        previous: digestOf(two),
      });
      const canary = { manifest: digestOf(three), percent: 1, published_at: 1 };
      store.values.set(POINTER_KEY, encodeJson('', { ...pointer, canary }).bytes);
      for (const { key, bytes } of one.entries) store.values.set(key, bytes);
      store.values.set(tenantPointerKey('t'), encodeJson('', makeTenantPointer()).bytes);
    };
    const makeTenantPointer = () => ({ manifest: digestOf(sharing), published_at: 1 });
    const sharing = makeBundle({ alpha: 'A1\n' }, 1);
    for (const { key, bytes } of sharing.entries) store.values.set(key, bytes);
    const report = await collectGarbage(store, { keep: 1, now: GRACE_MS });
    expect(report.lost).toEqual([alphaOfOne]);
  });

  it('removes nothing on half the truth', async () => {
    const store = await publishAll(one, two);
    store.values.delete(manifestKey(digestOf(two)));
    await expect(collectGarbage(store, { keep: 0, now: 0 })).rejects.toThrow('not there');
    store.values.set(manifestKey(digestOf(two)), new TextEncoder().encode('{}'));
    await expect(collectGarbage(store, { keep: 0, now: 0 })).rejects.toThrow('not what its digest says');
    const other = await publishAll(one);
    other.values.set(tenantPointerKey('t'), new TextEncoder().encode('{}'));
    await expect(collectGarbage(other, { keep: 0, now: 0 })).rejects.toThrow('no pointer');
  });

  it('shows what it would do without doing it', async () => {
    const store = await publishAll(one, two, three);
    const before = new Map(store.values);
    const report = await collectGarbage(store, { keep: 1, graceMs: 0, now: 0, dryRun: true });
    expect(report.removed.length).toBeGreaterThan(0);
    expect(store.values).toEqual(before);
  });
});
