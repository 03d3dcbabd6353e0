/**
 * Views of the bundle in KV (layout: `manifest.ts`): the deployment's release and the tenant's over it, merged, with one
 * winner for each name. Only pointers are ever read twice, and only when what is known of them is older than `freshMs`;
 * a step that finds both fresh reads nothing.
 */
import { skillContentMissing } from '../errors.ts';
import type { Failure } from '../transcript/events.ts';
import { compareCodeUnits } from './canonical.ts';
import { type BundleKv, createBundleKv, type Release, type SkillKv } from './kv.ts';
import { createLayer, type Layer, type LayerView } from './layer.ts';
import { POINTER_KEY, tenantPointerKey } from './manifest.ts';
import { createRecentMap } from './recent-map.ts';
import type { SkillEntry, SkillScope, SkillSource, SkillView } from './types.ts';

export interface SkillSourceOptions {
  kv: SkillKv;
  /** Milliseconds for which a pointer is believed; 0 reads it each time. */
  freshMs: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Bytes of bodies and resources kept in memory. */
  cacheBytes?: number;
}

/** An eighth of an isolate's 128 MB, which sessions and their requests also live in. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** Tenants whose pointer is remembered: those whose sessions are at work in this isolate. */
const TENANTS_KEPT = 256;
/** A view is a list and an index over entries that releases hold anyway. */
const VIEWS_KEPT = 256;

const sources = new WeakMap<SkillKv, SkillSource>();

/** One source for each KV binding, so that all sessions of an isolate share what it has read. */
export function skillSourceFor(options: SkillSourceOptions): SkillSource {
  const known = sources.get(options.kv);
  if (known !== undefined) return known;
  const source = createSkillSource(options);
  sources.set(options.kv, source);
  return source;
}

export function createSkillSource({ kv, freshMs, now, cacheBytes }: SkillSourceOptions): SkillSource {
  const bundle = createBundleKv(kv, cacheBytes ?? CACHE_BYTES);
  const createAt = (key: string): Layer => createLayer({ key, bundle, freshMs, now });
  const deployment = createAt(POINTER_KEY);
  const tenants = createRecentMap<string, Layer>(TENANTS_KEPT);
  const views = createRecentMap<string, SkillView>(VIEWS_KEPT);

  function findTenant(tenant: string): Layer {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const layer = createAt(tenantPointerKey(tenant));
    tenants.set(tenant, layer);
    return layer;
  }

  /** The same releases are the same view, so that what is derived from a view can be kept beside it. */
  function combine(below: LayerView, above: LayerView): SkillView {
    const fault = findFault(below, above);
    const lower = below.kind === 'release' ? below.release : null;
    const upper = above.kind === 'release' ? above.release : null;
    const key = JSON.stringify([lower?.manifest ?? null, upper?.manifest ?? null, fault ?? null]);
    const known = views.get(key);
    if (known !== undefined) return known;
    const view = fault === undefined ? buildView(bundle, lower, upper) : emptyView(fault);
    views.set(key, view);
    return view;
  }

  return {
    view(scope) {
      const layers = [deployment, findTenant(scope.tenant)] as const;
      const [below, above] = layers.map((layer) => layer.peek(scope));
      if (below !== undefined && above !== undefined) return Promise.resolve(combine(below, above));
      return readBoth(layers, scope).then(([lower, upper]) => combine(lower, upper));
    },
  };
}

/** At once: what is fresh costs nothing, and two stale pointers cost the time of one. */
async function readBoth(
  [below, above]: readonly [Layer, Layer],
  scope: SkillScope,
): Promise<[LayerView, LayerView]> {
  return Promise.all([below.read(scope), above.read(scope)]);
}

/**
 * A part that cannot be read is not left out: the tenant's skill might have been the stricter one. That there is
 * nothing in either layer is a fault as well; that there is nothing in one is not.
 */
function findFault(below: LayerView, above: LayerView): Failure | undefined {
  if (below.kind === 'fault') return below.fault;
  if (above.kind === 'fault') return above.fault;
  return below.kind === 'none' && above.kind === 'none' ? below.fault : undefined;
}

function buildView(bundle: BundleKv, below: Release | null, above: Release | null): SkillView {
  const byName = new Map<string, SkillEntry>();
  const ofTenant = new Set(above?.entries.map(({ name }) => name));
  for (const release of [below, above]) {
    for (const entry of release?.entries ?? []) byName.set(entry.name, entry);
  }
  // A BOM is part of the body: what was bundled is what is rendered.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: false });
  return {
    manifest: below?.manifest ?? null,
    tenantManifest: above?.manifest ?? null,
    entries: [...byName.values()].sort((a, b) => compareCodeUnits(a.name, b.name)),
    find: (name) => byName.get(name),
    layerOf: (name) => (ofTenant.has(name) ? 'tenant' : 'deployment'),
    body: async ({ name, body }) => decoder.decode(await bundle.readContent(body, `skill "${name}"`)),
    // A copy: the cached bytes belong to every session.
    resource: async ({ path, digest }) => (await bundle.readContent(digest, `the file "${path}"`)).slice(),
  };
}

function emptyView(fault: Failure): SkillView {
  const absent = (): Promise<never> =>
    Promise.reject(skillContentMissing('There is no skill bundle to read this from.'));
  return {
    manifest: null,
    tenantManifest: null,
    fault,
    entries: [],
    find: () => undefined,
    layerOf: () => 'deployment',
    body: absent,
    resource: absent,
  };
}
