/** The skills' KV: slow, at times down, and a pointer may be seen before what it names. */
import {
  buildEntry,
  buildManifest,
  contentKey,
  manifestKey,
  POINTER_KEY,
} from '../../durable/skills/manifest.ts';
import { parseSkill } from '../../durable/skills/parse.ts';
import type { Life } from './clock.ts';
import type { Reach } from './reach.ts';

export interface SkillStore {
  /** Publishes the skills in their n-th version: a later one changes bodies, and the set of names. */
  publish: (version: number, settledAfterMs: number) => void;
  /** KV as one life of an object sees it. */
  openFor: (life: Life, reach: Reach) => { get: (key: string, type: string) => Promise<unknown> };
  setDownUntil: (at: number) => void;
  setDelay: (ms: number) => void;
}

const NAMES = ['alpha', 'beta', 'gamma'] as const;

export function createSkillStore(now: () => number): SkillStore {
  const values = new Map<string, { value: string; from: number }>();
  let downUntil = 0;
  let delay = 2;
  return {
    publish(version, settledAfterMs) {
      const from = now() + settledAfterMs;
      const entries = NAMES.filter((_, i) => version % 3 !== i || version === 0).map((name) => {
        const text = `---\nname: ${name}\ndescription: The skill ${name}, version ${version}.\n---\nBody ${version} of ${name}.`;
        const parsed = parseSkill(text, { file: `${name}/SKILL.md`, folder: name });
        if (parsed.kind === 'rejected') throw new Error(JSON.stringify(parsed.diagnostics));
        const entry = buildEntry(parsed.skill, parsed.body, []);
        put(values, contentKey(entry.body), parsed.body, from);
        return entry;
      });
      const manifest = buildManifest(entries);
      put(values, manifestKey(manifest.digest), manifest.text, from);
      const pointer = JSON.stringify({ manifest: manifest.digest, published_at: Math.floor(now()) });
      values.set(POINTER_KEY, { value: pointer, from: now() });
    },
    openFor: (life, reach) => ({
      get: (key, type) =>
        reach(life, delay, () => {
          if (now() < downUntil) throw new Error('the store cannot be reached');
          const entry = values.get(key);
          if (entry === undefined || now() < entry.from) return null;
          return type === 'text' ? entry.value : toBuffer(entry.value);
        }),
    }),
    setDownUntil(at) {
      downUntil = at;
    },
    setDelay(ms) {
      delay = ms;
    },
  };
}

/** What is there already does not become unseen when it is published again. */
function put(
  values: Map<string, { value: string; from: number }>,
  key: string,
  value: string,
  from: number,
): void {
  if (!values.has(key)) values.set(key, { value, from });
}

function toBuffer(text: string): ArrayBufferLike {
  return new TextEncoder().encode(text).buffer;
}
