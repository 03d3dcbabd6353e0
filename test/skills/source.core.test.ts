import { describe, expect, it } from 'vitest';
import {
  type BundlePointer,
  buildManifest,
  contentKey,
  manifestKey,
  POINTER_KEY,
} from '../../durable/skills/manifest.ts';
import { skillSourceFor } from '../../durable/skills/source.ts';
import type { SkillResource } from '../../durable/skills/types.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { MemoryKv } from './memory-kv.ts';
import { makeEntry } from './sample-skills.ts';
import { SCOPE, setUp, TENANT_KEY } from './source-setup.ts';

describe('a view', () => {
  it('is the release that the pointer names', async () => {
    const { kv, source } = setUp();
    const manifest = kv.publish([makeEntry('beta'), makeEntry('alpha')]);
    const view = await source.view(SCOPE);
    expect(view).toMatchObject({ manifest });
    expect(view.fault).toBeUndefined();
    expect(view.entries.map(({ name }) => name)).toEqual(['alpha', 'beta']);
    expect(view.find('alpha')?.description).toBe('About alpha');
    expect(view.find('constructor')).toBeUndefined();
  });

  it('costs no read while the pointer is fresh, and is the same object', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    const first = await source.view(SCOPE);
    kv.reads = [];
    clock.at += 999;
    expect(await source.view(SCOPE)).toBe(first);
    expect(kv.reads).toEqual([]);
  });

  it('costs one read a pointer when they are stale and say the same', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    const first = await source.view(SCOPE);
    kv.reads = [];
    clock.at += 1000;
    expect(await source.view(SCOPE)).toBe(first);
    expect(kv.reads).toEqual([POINTER_KEY, TENANT_KEY]);
  });

  it('follows a release, and a rollback costs the pointers alone', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    const first = await source.view(SCOPE);
    kv.publish([makeEntry('alpha'), makeEntry('gamma')]);
    clock.at += 1000;
    const second = await source.view(SCOPE);
    expect(second.find('gamma')).toBeDefined();
    expect(first.find('gamma')).toBeUndefined();
    kv.publish([makeEntry('alpha')]);
    kv.reads = [];
    clock.at += 1000;
    expect(await source.view(SCOPE)).toBe(first);
    expect(kv.reads).toEqual([POINTER_KEY, TENANT_KEY]);
  });

  it('is not undone by a slower reading that began earlier', async () => {
    const { kv, source } = setUp();
    const old = kv.publish([makeEntry('alpha')]);
    const { promise, resolve } = Promise.withResolvers<void>();
    kv.held = promise;
    const early = source.view(SCOPE);
    kv.held = Promise.resolve();
    const next = kv.publish([makeEntry('beta')]);
    expect((await source.view(SCOPE)).manifest).toBe(next);
    resolve();
    expect((await early).manifest).toBe(old);
    expect((await source.view(SCOPE)).manifest).toBe(next);
  });

  it('is shared by all who ask for the same binding', () => {
    const kv = new MemoryKv();
    const options = { kv, freshMs: 0, now: () => 0 };
    expect(skillSourceFor(options)).toBe(skillSourceFor({ ...options }));
    expect(skillSourceFor({ ...options, kv: new MemoryKv() })).not.toBe(skillSourceFor(options));
  });
});

describe('a bundle that cannot be read', () => {
  it('gives an empty view with the reason where nothing is published', async () => {
    const { kv, clock, source } = setUp();
    const view = await source.view(SCOPE);
    expect(view).toMatchObject({ manifest: null, entries: [], fault: { code: 'skill_bundle_missing' } });
    kv.reads = [];
    await source.view(SCOPE);
    expect(kv.reads).toEqual([]);
    kv.publish([makeEntry('alpha')]);
    clock.at += 1000;
    expect((await source.view(SCOPE)).find('alpha')).toBeDefined();
  });

  it.each(['not json', '{}', 'null', '{"manifest": "short", "published_at": 1}'])(
    'so too for the pointer %j',
    async (text) => {
      const { kv, source } = setUp();
      kv.put(POINTER_KEY, text);
      expect((await source.view(SCOPE)).fault?.code).toBe('skill_bundle_missing');
    },
  );

  it('gives an empty view with the reason where the manifest is absent and there was none before', async () => {
    const { kv, clock, source } = setUp();
    const digest = 'f'.repeat(64);
    kv.put(POINTER_KEY, JSON.stringify({ manifest: digest, published_at: 2 }));
    const view = await source.view(SCOPE);
    expect(view).toMatchObject({
      manifest: null,
      entries: [],
      fault: { code: 'skill_manifest_missing', facts: { manifest: digest } },
    });
    kv.reads = [];
    clock.at += 999;
    expect(await source.view(SCOPE)).toBe(view);
    expect(kv.reads).toEqual([]);
  });

  it('keeps the last good release where a pointer names what is not there yet, and looks again when it is stale', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    const good = await source.view(SCOPE);
    const next = buildManifest([makeEntry('beta')]);
    const pointer: BundlePointer = { manifest: next.digest, published_at: 2, previous: 'e'.repeat(64) };
    kv.put(POINTER_KEY, JSON.stringify(pointer));
    clock.at += 1000;
    expect(await source.view(SCOPE)).toBe(good);
    kv.reads = [];
    clock.at += 999;
    expect(await source.view(SCOPE)).toBe(good);
    expect(kv.reads).toEqual([]);
    kv.put(manifestKey(next.digest), next.text);
    clock.at += 1;
    expect((await source.view(SCOPE)).manifest).toBe(next.digest);
  });

  it('takes the release before where it never read another', async () => {
    const { kv, source } = setUp();
    const previous = kv.publish([makeEntry('alpha')]);
    const pointer: BundlePointer = { manifest: 'f'.repeat(64), published_at: 2, previous };
    kv.put(POINTER_KEY, JSON.stringify(pointer));
    const view = await source.view(SCOPE);
    expect(view.manifest).toBe(previous);
    expect(view.fault).toBeUndefined();
  });

  it('keeps the last good release where the pointer is damaged, but not where it was deleted', async () => {
    const { kv, source } = setUp({ freshMs: 0 });
    kv.publish([makeEntry('alpha')]);
    const good = await source.view(SCOPE);
    kv.put(POINTER_KEY, 'not json');
    expect(await source.view(SCOPE)).toBe(good);
    kv.delete(POINTER_KEY);
    expect(await source.view(SCOPE)).toMatchObject({ entries: [], fault: { code: 'skill_bundle_missing' } });
    // Deleted is decided: what was before does not come back by itself.
    kv.put(POINTER_KEY, JSON.stringify({ manifest: 'f'.repeat(64), published_at: 3 }));
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_manifest_missing');
  });

  it('does not believe a manifest that is not what its digest says, or is none', async () => {
    const { kv, source } = setUp({ freshMs: 0 });
    const digest = kv.publish([makeEntry('alpha')]);
    kv.put(manifestKey(digest), buildManifest([makeEntry('beta')]).text);
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_manifest_missing');
    const text = '{"version": 2, "skills": []}';
    kv.put(manifestKey(sha256Hex(text)), text);
    kv.put(POINTER_KEY, JSON.stringify({ manifest: sha256Hex(text), published_at: 3 }));
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_manifest_missing');
  });

  it('keeps the last good view while KV throws, and says so where there is none', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    kv.failing = () => true;
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_bundle_missing');
    kv.failing = (key) => key !== POINTER_KEY;
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_manifest_missing');
    kv.failing = () => false;
    const good = await source.view(SCOPE);
    expect(good.fault).toBeUndefined();
    kv.failing = () => true;
    clock.at += 5000;
    expect(await source.view(SCOPE)).toBe(good);
    kv.publish([makeEntry('beta')]);
    kv.failing = (key) => key !== POINTER_KEY;
    clock.at += 5000;
    expect(await source.view(SCOPE)).toBe(good);
    kv.failing = () => false;
    clock.at += 5000;
    expect((await source.view(SCOPE)).find('beta')).toBeDefined();
  });
});

describe('content', () => {
  const body = 'one\r\n\uFEFFtwo ünï\n';
  const withBom = `\uFEFF${body}`;

  it('is read once and is what was bundled', async () => {
    const { kv, source } = setUp();
    const entry = makeEntry('alpha', { body: withBom });
    kv.publish([entry], [withBom]);
    const view = await source.view(SCOPE);
    kv.reads = [];
    expect(await view.body(entry)).toBe(withBom);
    expect(await view.body(entry)).toBe(withBom);
    expect(kv.reads).toEqual([contentKey(entry.body)]);
  });

  it('comes as bytes, which the reader may change for itself', async () => {
    const { kv, source } = setUp();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const resource: SkillResource = { path: 'a.bin', digest: sha256Hex(bytes), bytes: 256 };
    kv.publish([makeEntry('alpha')]);
    kv.put(contentKey(resource.digest), bytes);
    const view = await source.view(SCOPE);
    const first = await view.resource(resource);
    expect(first).toEqual(bytes);
    first.fill(0);
    expect(await view.resource(resource)).toEqual(bytes);
  });

  it('is refused where it is missing, is not what its digest says, or cannot be reached', async () => {
    const { kv, source } = setUp();
    const entry = makeEntry('alpha', { body });
    kv.publish([entry]);
    const view = await source.view(SCOPE);
    await expect(view.body(entry)).rejects.toMatchObject({ data: { code: 'skill_content_missing' } });
    kv.put(contentKey(entry.body), 'something else');
    await expect(view.body(entry)).rejects.toMatchObject({ data: { code: 'skill_content_missing' } });
    kv.put(contentKey(entry.body), body);
    kv.failing = () => true;
    await expect(view.body(entry)).rejects.toMatchObject({ data: { code: 'skill_content_missing' } });
    kv.failing = () => false;
    expect(await view.body(entry)).toBe(body);
  });

  it('is kept up to a number of bytes, the least recently used going first', async () => {
    const { kv, source } = setUp({ cacheBytes: 25 });
    const entries = ['a', 'b', 'c'].map((name) => makeEntry(name, { body: name.repeat(10) }));
    kv.publish(
      entries,
      ['a', 'b', 'c'].map((name) => name.repeat(10)),
    );
    const view = await source.view(SCOPE);
    const [a, b, c] = entries;
    if (!(a && b && c)) throw new Error('three entries');
    for (const entry of [a, b, a, c]) await view.body(entry);
    kv.reads = [];
    for (const entry of [a, c, b]) await view.body(entry);
    expect(kv.reads).toEqual([contentKey(b.body)]);
  });
});
