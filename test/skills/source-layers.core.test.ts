import { describe, expect, it } from 'vitest';
import { type BundlePointer, POINTER_KEY, tenantPointerKey } from '../../durable/skills/manifest.ts';
import { makeEntry } from './sample-skills.ts';
import { SCOPE, setUp, TENANT_KEY } from './source-setup.ts';

describe("a tenant's skills", () => {
  it("lie over the deployment's: one winner a name, everywhere the same, sorted", async () => {
    const { kv, source } = setUp();
    const manifest = kv.publish([makeEntry('beta', { body: 'OURS' }), makeEntry('gamma')], ['OURS']);
    const theirs = makeEntry('beta', { body: 'THEIRS', modelInvocable: false });
    const tenantManifest = kv.publish([theirs, makeEntry('alpha')], ['THEIRS'], TENANT_KEY);
    const view = await source.view(SCOPE);
    expect(view).toMatchObject({ manifest, tenantManifest });
    expect(view.entries.map(({ name }) => name)).toEqual(['alpha', 'beta', 'gamma']);
    expect(view.entries[1]).toEqual(theirs);
    expect(view.find('beta')).toEqual(theirs);
    expect(await view.body(theirs)).toBe('THEIRS');
    expect(['alpha', 'beta', 'gamma'].map(view.layerOf)).toEqual(['tenant', 'tenant', 'deployment']);
    const other = await source.view({ tenant: 'u', session: null });
    expect(other).toMatchObject({ manifest, tenantManifest: null });
    expect(other.entries.map(({ name }) => name)).toEqual(['beta', 'gamma']);
  });

  it('cost nothing while both pointers are fresh, and are the same view for as long as both releases are', async () => {
    const { kv, clock, source } = setUp();
    kv.publish([makeEntry('beta')]);
    const before = await source.view(SCOPE);
    kv.publish([makeEntry('alpha')], [], TENANT_KEY);
    clock.at += 1000;
    const merged = await source.view(SCOPE);
    kv.reads = [];
    expect(await source.view(SCOPE)).toBe(merged);
    expect(kv.reads).toEqual([]);
    clock.at += 1000;
    expect(await source.view(SCOPE)).toBe(merged);
    expect(kv.reads).toEqual([POINTER_KEY, TENANT_KEY]);
    kv.delete(TENANT_KEY);
    clock.at += 1000;
    expect(await source.view(SCOPE)).toBe(before);
  });

  it("are asked for at the same time as the deployment's", async () => {
    const { kv, source } = setUp();
    kv.publish([makeEntry('alpha')]);
    const { promise, resolve } = Promise.withResolvers<void>();
    kv.held = promise;
    const view = source.view(SCOPE);
    expect(kv.reads).toEqual([POINTER_KEY, TENANT_KEY]);
    resolve();
    expect((await view).find('alpha')).toBeDefined();
  });

  it('are there where the deployment has published nothing', async () => {
    const { kv, source } = setUp();
    kv.publish([makeEntry('alpha')], [], TENANT_KEY);
    const view = await source.view(SCOPE);
    expect(view.manifest).toBeNull();
    expect(view.fault).toBeUndefined();
    expect(view.find('alpha')).toBeDefined();
  });

  it('that cannot be read are not left out in silence: theirs might be the stricter one', async () => {
    const { kv, source } = setUp({ freshMs: 0 });
    kv.publish([makeEntry('beta')]);
    kv.failing = (key) => key === TENANT_KEY;
    expect(await source.view(SCOPE)).toMatchObject({ entries: [], fault: { code: 'skill_bundle_missing' } });
    kv.failing = () => false;
    kv.put(TENANT_KEY, JSON.stringify({ manifest: 'f'.repeat(64), published_at: 1 }));
    expect((await source.view(SCOPE)).fault?.code).toBe('skill_manifest_missing');
  });

  it("of a first release that is not there yet leave what was before it: the deployment's alone", async () => {
    const { kv, source } = setUp({ freshMs: 0 });
    kv.publish([makeEntry('beta')]);
    kv.put(TENANT_KEY, JSON.stringify({ manifest: 'f'.repeat(64), published_at: 1, previous: null }));
    const view = await source.view(SCOPE);
    expect(view).toMatchObject({ tenantManifest: null });
    expect(view.fault).toBeUndefined();
    expect(view.find('beta')).toBeDefined();
  });

  it('are remembered for the tenants that were last at work', async () => {
    const { kv, source } = setUp();
    kv.publish([makeEntry('beta')]);
    for (let index = 0; index < 300; index++) await source.view({ tenant: `t${index}`, session: null });
    kv.reads = [];
    await source.view({ tenant: 't299', session: null });
    expect(kv.reads).toEqual([]);
    await source.view({ tenant: 't0', session: null });
    expect(kv.reads).toEqual([tenantPointerKey('t0')]);
  });
});

describe('a canary', () => {
  const sessions = Array.from({ length: 2000 }, (_, index) => `ses_${index}`);

  function publishBoth(percent: number) {
    const { kv, clock, source } = setUp({ freshMs: 1000 });
    const canary = kv.publish([makeEntry('beta')]);
    const current = kv.publish([makeEntry('alpha')]);
    const point = (share: number): void => {
      const pointer: BundlePointer = {
        manifest: current,
        published_at: 1,
        canary: { manifest: canary, percent: share, published_at: 2 },
      };
      kv.put(POINTER_KEY, JSON.stringify(pointer));
    };
    point(percent);
    const readAll = async () => {
      const read = new Set<string>();
      for (const session of sessions) {
        if ((await source.view({ tenant: 't', session })).manifest === canary) read.add(session);
      }
      return read;
    };
    return { kv, clock, source, canary, current, point, readAll };
  }

  it('is read by its share of the sessions, always the same ones, and they stay when the share grows', async () => {
    const { clock, readAll, point } = publishBoth(10);
    const few = await readAll();
    expect(few.size).toBeGreaterThan(140);
    expect(few.size).toBeLessThan(260);
    expect(await readAll()).toEqual(few);
    point(50);
    clock.at += 1000;
    const half = await readAll();
    expect(half.size).toBeGreaterThan(900);
    expect(half.size).toBeLessThan(1100);
    expect([...few].every((session) => half.has(session))).toBe(true);
    point(100);
    clock.at += 1000;
    expect((await readAll()).size).toBe(sessions.length);
  });

  it('is chosen by the session of a tenant, not by its id alone', async () => {
    const { source, canary } = publishBoth(50);
    const read = await Promise.all(
      Array.from({ length: 40 }, (_, index) => source.view({ tenant: `t${index}`, session: 'main' })),
    );
    const share = read.filter(({ manifest }) => manifest === canary).length;
    expect(share).toBeGreaterThan(5);
    expect(share).toBeLessThan(35);
  });

  it('is not what is read outside a session', async () => {
    const { source, current } = publishBoth(100);
    expect((await source.view(SCOPE)).manifest).toBe(current);
  });

  it('costs no read more than its manifest, once', async () => {
    const { kv, source } = publishBoth(50);
    await source.view(SCOPE);
    kv.reads = [];
    for (const session of sessions.slice(0, 50)) await source.view({ tenant: 't', session });
    expect(kv.reads).toHaveLength(1);
  });

  it('that cannot be read leaves its sessions with the current release', async () => {
    const { kv, source, current } = publishBoth(100);
    const pointer = { manifest: 'f'.repeat(64), percent: 100, published_at: 2 };
    kv.put(POINTER_KEY, JSON.stringify({ manifest: current, published_at: 1, canary: pointer }));
    expect((await source.view({ tenant: 't', session: 's' })).manifest).toBe(current);
  });
});
