/**
 * One pointer and the releases that it leads to: the deployment's, or a tenant's.
 *
 * KV is eventually consistent, so a pointer can be seen before what it names. A layer then gives the last release that
 * it could read, or the one that the pointer says came before. Only a pointer that is gone takes a release away: that is
 * somebody's decision, the rest is delay or damage.
 */
import { skillBundleMissing } from '../errors.ts';
import { assertNever, type Failure } from '../transcript/events.ts';
import { type BundleKv, failureOf, parseJson, type Release } from './kv.ts';
import { type BundlePointer, bundlePointer, chooseManifest } from './manifest.ts';
import type { SkillScope } from './types.ts';

/** `none`: nothing is published under the pointer, or nothing was before a first release that cannot be read yet. */
export type LayerView =
  | { kind: 'release'; release: Release }
  | { kind: 'none'; fault: Failure }
  | { kind: 'fault'; fault: Failure };

export interface Layer {
  /** What is known and fresh, without a read; undefined where there is something to read. */
  peek: (scope: SkillScope) => LayerView | undefined;
  /** Reads the pointer, if it is stale, and what else is needed. Does not throw. */
  read: (scope: SkillScope) => Promise<LayerView>;
}

export interface LayerOptions {
  key: string;
  bundle: BundleKv;
  /** Milliseconds for which a pointer is believed; 0 reads it each time. */
  freshMs: number;
  now: () => number;
}

/** A release, that there was none, or null where nothing is known. */
type Good = Release | 'nothing' | null;

/** What one reading of the pointer said. */
interface PointerState {
  readAt: number;
  content: { kind: 'pointer'; pointer: BundlePointer } | { kind: 'absent' } | { kind: 'corrupt' };
  /** By chosen manifest: what it came to. Asked again when the pointer is. */
  views: Map<string, LayerView>;
}

const NOT_PUBLISHED = {
  kind: 'none',
  fault: failureOf(skillBundleMissing('No skill bundle is published.')),
} as const;
const CORRUPT = {
  kind: 'fault',
  fault: failureOf(skillBundleMissing('The pointer of the skill bundle cannot be read.')),
} as const;
const UNREAD = {
  kind: 'fault',
  fault: failureOf(skillBundleMissing('The skill bundle could not be reached.')),
} as const;

export function createLayer({ key, bundle, freshMs, now }: LayerOptions): Layer {
  let state: PointerState | null = null;
  /** What was last there for most sessions. */
  let good: Good = null;
  let readings = 0;
  let newest = 0;

  /** Null where KV could not be reached and nothing is known. */
  async function readState(): Promise<PointerState | null> {
    const readAt = now();
    const order = ++readings;
    const stored = await bundle.readPointer(key);
    const next = nextState(stored, state, readAt);
    // A slow reading does not undo a later one.
    if (next === null || order < newest) return next;
    newest = order;
    state = next;
    if (next.content.kind === 'absent') good = 'nothing';
    return next;
  }

  async function resolve(current: PointerState, scope: SkillScope): Promise<LayerView> {
    if (current.content.kind !== 'pointer') return describeNoPointer(current.content.kind, good);
    const { pointer } = current.content;
    const chosen = chooseManifest(pointer, scope);
    const known = current.views.get(chosen);
    if (known !== undefined) return known;
    const { view, isUnread } = await readView(bundle, pointer, chosen, good);
    // That KV threw is not remembered where there is nothing else to give.
    if (view.kind === 'release' || !isUnread) current.views.set(chosen, view);
    // A canary or a late answer is the last good one only where there is no other.
    const isNewest = current === state && chosen === pointer.manifest;
    if (view.kind === 'release' && (isNewest || good === null)) good = view.release;
    if (view.kind === 'none') good ??= 'nothing';
    return view;
  }

  const isFresh = (): boolean => {
    const age = state === null ? Number.POSITIVE_INFINITY : now() - state.readAt;
    return age >= 0 && age < freshMs;
  };
  return {
    peek(scope) {
      if (state === null || !isFresh()) return undefined;
      if (state.content.kind !== 'pointer') return describeNoPointer(state.content.kind, good);
      return state.views.get(chooseManifest(state.content.pointer, scope));
    },
    async read(scope) {
      const current = state !== null && isFresh() ? state : await readState();
      return current === null ? UNREAD : resolve(current, scope);
    },
  };
}

function nextState(
  stored: Awaited<ReturnType<BundleKv['readPointer']>>,
  before: PointerState | null,
  readAt: number,
): PointerState | null {
  switch (stored.kind) {
    case 'unread':
      // What was known is believed until the next reading.
      return before === null ? null : { ...before, readAt };
    case 'absent':
      return { readAt, content: { kind: 'absent' }, views: new Map() };
    case 'text': {
      const read = bundlePointer.safeParse(parseJson(stored.text));
      const content = read.success
        ? ({ kind: 'pointer', pointer: read.data } as const)
        : ({ kind: 'corrupt' } as const);
      return { readAt, content, views: new Map() };
    }
    default:
      return assertNever(stored);
  }
}

function describeNoPointer(kind: 'absent' | 'corrupt', good: Good): LayerView {
  if (kind === 'absent') return NOT_PUBLISHED;
  return good === null || good === 'nothing' ? CORRUPT : { kind: 'release', release: good };
}

/** The first of these that can be read: the chosen release, the current one, the last good one, the one before. */
async function readView(
  bundle: BundleKv,
  pointer: BundlePointer,
  chosen: string,
  good: Good,
): Promise<{ view: LayerView; isUnread: boolean }> {
  let isUnread = false;
  let fault: Failure | null = null;
  const kept = good === 'nothing' ? null : good;
  const wanted = [...new Set([chosen, pointer.manifest])];
  for (const digest of kept === null ? [...wanted, pointer.previous] : wanted) {
    if (typeof digest !== 'string') continue;
    const reading = await bundle.readRelease(digest);
    if (reading.kind === 'release') return { view: reading, isUnread };
    isUnread ||= reading.kind === 'unread';
    fault ??= reading.fault;
  }
  if (kept !== null) return { view: { kind: 'release', release: kept }, isUnread };
  // The state before a first release is a whole one too: nothing.
  const wasNothing = good === 'nothing' || (pointer.previous === null && !isUnread);
  return { view: { kind: wasNothing ? 'none' : 'fault', fault: fault ?? CORRUPT.fault }, isUnread };
}
