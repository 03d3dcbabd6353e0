/** Releases as the bundler makes them, without a folder. */
import { buildEntry, buildManifest, contentKey, manifestKey } from '../../durable/skills/manifest.ts';
import type { SkillEntry } from '../../durable/skills/types.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import type { KvEntry } from '../../scripts/skills/bundle.ts';
import { publishRelease } from '../../scripts/skills/releases.ts';
import { MemoryStore } from './memory-store.ts';

interface Source {
  body: string;
  files?: Record<string, string>;
  description?: string;
}

/** A bundle of these skills, as the bundler makes it. */
export function makeBundle(sources: Record<string, string | Source>, at: number) {
  const contents = new Map<string, KvEntry>();
  const add = (text: string): string => {
    const digest = sha256Hex(text);
    contents.set(digest, { key: contentKey(digest), bytes: new TextEncoder().encode(text) });
    return digest;
  };
  const skills = Object.entries(sources).map(([name, given]): SkillEntry => {
    const {
      body,
      files = {},
      description = `About ${name}`,
    } = typeof given === 'string' ? { body: given } : given;
    add(body);
    const resources = Object.entries(files).map(([path, text]) => ({
      path,
      digest: add(text),
      bytes: text.length,
    }));
    return buildEntry({ name, description, userInvocable: true, modelInvocable: true }, body, resources);
  });
  const manifest = buildManifest(skills);
  const entries = [
    ...contents.values(),
    { key: manifestKey(manifest.digest), bytes: new TextEncoder().encode(manifest.text) },
  ];
  const pointer = { manifest: manifest.digest, published_at: at };
  return { skills: manifest.skills, manifest, pointer, entries };
}

export const one = makeBundle({ alpha: 'A1\n', beta: 'B\n' }, 1000);
export const two = makeBundle({ alpha: 'A2\n', gamma: { body: 'G\n', files: { 'a.txt': 'x' } } }, 2000);
export const three = makeBundle({ delta: 'D\n' }, 3000);
export const digestOf = ({ manifest }: typeof one): string => manifest.digest;

export async function publishAll(...bundles: (typeof one)[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const bundle of bundles) await publishRelease(store, bundle);
  store.written = [];
  return store;
}
