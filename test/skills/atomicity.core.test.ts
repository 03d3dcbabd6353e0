/** Publishing is atomic to readers though KV is not: writes are seen late and out of order, reads are old or lost. */
import { expect, it } from 'vitest';
import type { SkillKv } from '../../durable/skills/kv.ts';
import { buildManifest, contentKey, manifestKey, tenantPointerKey } from '../../durable/skills/manifest.ts';
import { createSkillSource } from '../../durable/skills/source.ts';
import type { SkillEntry, SkillSource, SkillView } from '../../durable/skills/types.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import {
  encodeJson,
  promoteCanary,
  publishRelease,
  rollBack,
  setCanary,
} from '../../scripts/skills/releases.ts';
import { createRandom, type Random } from '../support/random.ts';
import { MemoryStore } from './memory-store.ts';
import { makeEntry } from './sample-skills.ts';

const INTERLEAVINGS = 400;
const TENANT = 'acme';

/** What a value was, and since when a reader may see it. */
interface Version {
  bytes: Uint8Array;
  visibleAt: number;
}

/** Time is counted in operations. */
class UnreliableKv extends MemoryStore implements SkillKv {
  readonly #versions = new Map<string, Version[]>();
  readonly #random: Random;
  #time = 0;
  #isSettled = false;

  constructor(random: Random) {
    super();
    this.#random = random;
  }

  /** From here all that was written is seen, and nothing is lost. */
  settle(isSettled = true): void {
    this.#isSettled = isSettled;
    const [first] = [...this.#versions.values()];
    if (first === undefined || !isSettled) return;
    for (const versions of this.#versions.values()) versions.splice(0, versions.length - 1);
  }

  override async put(entries: Parameters<MemoryStore['put']>[0]): Promise<void> {
    for (const entry of entries) {
      await this.pause();
      await super.put([entry]);
      const versions = this.#versions.get(entry.key) ?? [];
      versions.push({ bytes: entry.bytes, visibleAt: this.#time + this.#random.below(60) });
      this.#versions.set(entry.key, versions);
    }
  }

  get(key: string, type: 'text'): Promise<string | null>;
  get(key: string, type: 'arrayBuffer'): Promise<ArrayBuffer | null>;
  async get(key: string, type: 'text' | 'arrayBuffer'): Promise<string | ArrayBuffer | null> {
    const early = this.#look(key);
    await this.pause();
    // An answer is as old as the question, or as new as the answer.
    const bytes = this.#random.next() < 0.5 ? early : this.#look(key);
    if (!this.#isSettled && this.#random.next() < 0.1) throw new Error('KV is out of reach');
    if (bytes === null) return null;
    return type === 'text' ? new TextDecoder().decode(bytes) : Uint8Array.from(bytes).buffer;
  }

  async pause(): Promise<void> {
    for (let ticks = this.#random.below(8); ticks > 0; ticks--) {
      this.#time++;
      await Promise.resolve();
    }
  }

  #look(key: string): Uint8Array | null {
    const versions = this.#versions.get(key) ?? [];
    if (this.#isSettled) return versions.at(-1)?.bytes ?? null;
    const visible = versions.filter(({ visibleAt }) => visibleAt <= this.#time);
    // Not every place sees the newest of them.
    const back = this.#random.next() < 0.3 ? this.#random.below(visible.length) : 0;
    return visible.at(-1 - back)?.bytes ?? null;
  }
}

function makeRelease(label: string, names: readonly string[]) {
  const bodies = names.map((name) => `${name} of ${label}\n`);
  const skills = names.map((name, index) =>
    makeEntry(name, { body: bodies[index] ?? '', description: label }),
  );
  const manifest = buildManifest(skills);
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const entries = [
    ...bodies.map((body) => ({ key: contentKey(sha256Hex(body)), bytes: encode(body) })),
    { key: manifestKey(manifest.digest), bytes: encode(manifest.text) },
  ];
  return {
    skills: manifest.skills,
    manifest,
    entries,
    pointer: { manifest: manifest.digest, published_at: 1 },
  };
}

const RELEASES = [
  makeRelease('r0', ['alpha', 'beta']),
  makeRelease('r1', ['alpha', 'gamma']),
  makeRelease('r2', ['beta', 'gamma', 'delta']),
  makeRelease('r3', ['alpha', 'beta', 'gamma', 'delta']),
];
const THEIRS = [
  makeRelease('t0', ['beta', 'own']),
  makeRelease('t1', ['own']),
  makeRelease('t2', ['alpha', 'own']),
];
const byDigest = new Map([...RELEASES, ...THEIRS].map(({ manifest }) => [manifest.digest, manifest.skills]));

/** What a reader of these two releases must see: all of them, and nothing else. */
function mergeSlowly(view: SkillView): SkillEntry[] {
  const below = view.manifest === null ? [] : (byDigest.get(view.manifest) ?? []);
  const above = view.tenantManifest === null ? [] : (byDigest.get(view.tenantManifest) ?? []);
  const hidden = new Set(above.map(({ name }) => name));
  return [...below.filter(({ name }) => !hidden.has(name)), ...above].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

async function publishAll(kv: UnreliableKv): Promise<void> {
  const [, r1, r2, r3] = RELEASES;
  if (!(r1 && r2 && r3)) throw new Error('four releases');
  await publishRelease(kv, r1);
  await publishRelease(kv, r2, { canary: 50 });
  await setCanary(kv, 80);
  await promoteCanary(kv, 2);
  await publishRelease(kv, r3);
  await rollBack(kv, 'previous', 3);
}

async function publishTheirs(kv: UnreliableKv): Promise<void> {
  let previous: string | null = null;
  for (const { entries, manifest } of THEIRS) {
    await kv.put(entries);
    await kv.put([
      encodeJson(tenantPointerKey(TENANT), { manifest: manifest.digest, published_at: 1, previous }),
    ]);
    previous = manifest.digest;
  }
}

interface Seen {
  views: number;
  faults: number;
  bodies: number;
  missing: number;
  pairs: Set<string>;
}

/** One isolate with two sessions in it: each asks for views while the pushes run, and checks them. */
async function readAlong(kv: UnreliableKv, random: Random, seen: Seen, isOver: () => boolean): Promise<void> {
  const clock = { at: 0 };
  const source = createSkillSource({ kv, freshMs: random.pick([0, 3]), now: () => clock.at });
  const goodFor = new Set<string>();
  const read = () => readViews({ kv, source, clock, goodFor, random, seen, isOver });
  await Promise.all([read(), read()]);
}

interface Reader {
  kv: UnreliableKv;
  source: SkillSource;
  clock: { at: number };
  /** Tenants that this isolate had a good view for. */
  goodFor: Set<string>;
  random: Random;
  seen: Seen;
  isOver: () => boolean;
}

async function readViews({ kv, source, clock, goodFor, random, seen, isOver }: Reader): Promise<void> {
  while (!isOver()) {
    clock.at += random.below(3);
    const tenant = random.pick([TENANT, 'other']);
    const session = random.pick([null, 's1', 's2', 's3']);
    const wasGood = goodFor.has(tenant);
    const view = await source.view({ tenant, session });
    await kv.pause();
    seen.views++;
    if (view.fault !== undefined) {
      expect(view.entries).toEqual([]);
      expect(wasGood, 'a good view was lost').toBe(false);
      seen.faults++;
      continue;
    }
    goodFor.add(tenant);
    expect(view.entries).toEqual(mergeSlowly(view));
    seen.pairs.add(`${view.manifest} ${view.tenantManifest}`);
    const entry = random.pick(view.entries);
    expect(view.find(entry.name)).toBe(entry);
    const body = await view.body(entry).catch(() => null);
    if (body === null) seen.missing++;
    else {
      seen.bodies++;
      expect(body).toBe(`${entry.name} of ${entry.description}\n`);
    }
  }
}

it('a reader sees whole releases and no mixture, in hundreds of interleavings of pushes and unreliable reads', async () => {
  const seen: Seen = { views: 0, faults: 0, bodies: 0, missing: 0, pairs: new Set() };
  for (let seed = 1; seed <= INTERLEAVINGS; seed++) {
    const random = createRandom(seed);
    const kv = new UnreliableKv(random);
    const [r0, , r2] = RELEASES;
    if (!(r0 && r2)) throw new Error('four releases');
    await publishRelease(kv, r0);
    kv.settle();
    kv.settle(false);
    // What is settled is seen by everybody.
    await waitUntilVisible(kv);
    let running = 2;
    const finish = () => {
      running--;
    };
    const isOver = (): boolean => running === 0;
    try {
      await Promise.all([
        publishAll(kv).then(finish),
        publishTheirs(kv).then(finish),
        ...[1, 2].map(() => readAlong(kv, random, seen, isOver)),
      ]);
      kv.settle();
      const last = await createSkillSource({ kv, freshMs: 0, now: () => 0 }).view({
        tenant: TENANT,
        session: 's',
      });
      expect(last).toMatchObject({
        manifest: r2.manifest.digest,
        tenantManifest: THEIRS.at(-1)?.manifest.digest,
      });
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  // The test is worth something only if the readers met what it is about.
  expect(seen.views).toBeGreaterThan(INTERLEAVINGS * 15);
  expect(seen.pairs.size).toBeGreaterThan(10);
  expect(seen.missing).toBeGreaterThan(100);
  expect(seen.bodies).toBeGreaterThan(seen.missing);
  expect(seen.faults).toBeGreaterThan(0);
  expect(seen.faults).toBeLessThan(seen.views / 4);
});

async function waitUntilVisible(kv: UnreliableKv): Promise<void> {
  for (let round = 0; round < 100; round++) await kv.pause();
}
