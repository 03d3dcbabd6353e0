/** The skills of a running service: published at the start, and again when somebody edits them. */
import { watch } from 'node:fs';
import { type Bundle, bundleSkills } from '../skills/bundle.ts';
import { publishLocal } from '../skills/publish.ts';
import { hasRejected } from '../skills/report.ts';

/** An editor saves in several steps. */
const DEBOUNCE_MS = 150;

export interface SkillPublisher {
  /** One line for each thing there is to say. Skills with errors are left out: the others are wanted all the same. */
  publishFirst: () => Promise<string[]>;
  /** Publishes what changed, or says why not; what is published stays as it was where a skill has an error. */
  publishChange: () => Promise<string[]>;
}

export function createSkillPublisher(
  dir: string,
  persistTo: string,
  publish: (bundle: Bundle, persistTo: string) => Promise<void> = publishLocal,
): SkillPublisher {
  let current: Bundle | null = null;
  return {
    async publishFirst() {
      const bundle = await bundleSkills(dir);
      await publish(bundle, persistTo);
      current = bundle;
      const names = bundle.skills.map(({ name }) => `/${name}`).join(' ');
      return [...listErrors(bundle), `${bundle.skills.length} skills: ${names}`];
    },
    async publishChange() {
      const bundle = await bundleSkills(dir);
      if (hasRejected(bundle))
        return [...listErrors(bundle), 'skills: not published; the last release stays'];
      if (bundle.manifest.digest === current?.manifest.digest) return [];
      const changes = describeChanges(current, bundle);
      await publish(bundle, persistTo);
      current = bundle;
      return [`skills: ${changes}`];
    },
  };
}

function listErrors({ diagnostics }: Bundle): string[] {
  return diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, message }) => `skills: ${file}:${line}: ${message}`);
}

/** `changed a, b; added c; removed d`. */
export function describeChanges(
  before: Pick<Bundle, 'skills'> | null,
  after: Pick<Bundle, 'skills'>,
): string {
  const old = new Map((before?.skills ?? []).map(({ name, digest }) => [name, digest]));
  const names = new Set(after.skills.map(({ name }) => name));
  const groups: [string, string[]][] = [
    [
      'changed',
      after.skills
        .filter(({ name, digest }) => old.has(name) && old.get(name) !== digest)
        .map(({ name }) => name),
    ],
    ['added', after.skills.filter(({ name }) => !old.has(name)).map(({ name }) => name)],
    ['removed', [...old.keys()].filter((name) => !names.has(name))],
  ];
  return groups
    .filter(([, list]) => list.length > 0)
    .map(([what, list]) => `${what} ${list.join(', ')}`)
    .join('; ');
}

/**
 * Calls `publishChange` after edits under `dir`, one run at a time, and hands its lines to `say`. Returns what ends
 * the watch.
 */
export function watchSkills(dir: string, publisher: SkillPublisher, say: (line: string) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let work = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      for (const line of await publisher.publishChange()) say(line);
    } catch (error) {
      say(`skills: not published: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const watcher = watch(dir, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      work = work.then(run);
    }, DEBOUNCE_MS);
  });
  watcher.on('error', (error) => say(`skills: no longer watched: ${error.message}`));
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
