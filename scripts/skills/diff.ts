/** What changed between two releases. */
import { contentKey } from '../../durable/skills/manifest.ts';
import type { SkillEntry } from '../../durable/skills/types.ts';

export interface Release {
  skills: readonly SkillEntry[];
  /** A body by its digest. */
  readBody: (digest: string) => Promise<string>;
}

export interface SkillChange {
  name: string;
  kind: 'added' | 'removed' | 'changed';
  /** Of what the model is given: after less before. */
  tokens: number;
  /** Lines of the body. */
  lines: { added: number; removed: number };
  /** Fields of the header that differ. */
  fields: string[];
  files: { added: string[]; removed: string[]; changed: string[] };
}

/** Sorted by name; what did not change is not in it. */
export async function diffReleases(before: Release, after: Release): Promise<SkillChange[]> {
  const old = new Map(before.skills.map((skill) => [skill.name, skill]));
  const next = new Map(after.skills.map((skill) => [skill.name, skill]));
  const changes: SkillChange[] = [];
  for (const name of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const [from, to] = [old.get(name), next.get(name)];
    if (from?.digest === to?.digest) continue;
    const kind = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed';
    const isSameBody = from?.body === to?.body;
    const lines = isSameBody
      ? { added: 0, removed: 0 }
      : diffLines(
          from === undefined ? '' : await before.readBody(from.body),
          to === undefined ? '' : await after.readBody(to.body),
        );
    changes.push({
      name,
      kind,
      tokens: (to?.tokens ?? 0) - (from?.tokens ?? 0),
      lines,
      fields: from === undefined || to === undefined ? [] : diffFields(from, to),
      files: diffFiles(from, to),
    });
  }
  return changes;
}

/** Bodies out of texts by key. */
export function createBodyReader(texts: ReadonlyMap<string, string>): Release['readBody'] {
  return async (digest) => {
    const text = texts.get(contentKey(digest));
    if (text === undefined) throw new Error(`The body ${digest} is not there.`);
    return text;
  };
}

const FIELDS = [
  'description',
  'userInvocable',
  'modelInvocable',
  'license',
  'compatibility',
  'metadata',
  'allowedTools',
] as const;

function diffFields(from: SkillEntry, to: SkillEntry): string[] {
  return FIELDS.filter((field) => JSON.stringify(from[field]) !== JSON.stringify(to[field]));
}

function diffFiles(from: SkillEntry | undefined, to: SkillEntry | undefined): SkillChange['files'] {
  const old = new Map(from?.resources.map(({ path, digest }) => [path, digest]));
  const next = new Map(to?.resources.map(({ path, digest }) => [path, digest]));
  return {
    added: [...next.keys()].filter((path) => !old.has(path)),
    removed: [...old.keys()].filter((path) => !next.has(path)),
    changed: [...next].filter(([path, digest]) => (old.get(path) ?? digest) !== digest).map(([path]) => path),
  };
}

/** How many lines a shortest edit adds and removes. */
export function diffLines(before: string, after: string): { added: number; removed: number } {
  const a = splitLines(before);
  const b = splitLines(after);
  const edits = countEdits(a, b);
  const added = (edits + b.length - a.length) / 2;
  return { added, removed: edits - added };
}

function splitLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Additions and removals of a shortest edit: Myers' O((N+M)D) algorithm, which keeps the furthest reach of a diagonal. */
function countEdits(a: readonly string[], b: readonly string[]): number {
  const most = a.length + b.length;
  const reach = new Int32Array(2 * most + 3);
  for (let edits = 0; edits <= most; edits++) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + 1 + diagonal;
      const [below, above] = [reach[at - 1] ?? 0, reach[at + 1] ?? 0];
      let x = diagonal === -edits || (diagonal !== edits && below < above) ? above : below + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      reach[at] = x;
      if (x >= a.length && x - diagonal >= b.length) return edits;
    }
  }
  return most;
}

/** More files than this are only counted. */
const FILES_SHOWN = 5;

/** A line a skill. */
export function formatChanges(changes: readonly SkillChange[]): string[] {
  return changes.map(({ name, kind, tokens, lines, fields, files }) => {
    const parts = [
      lines.added + lines.removed > 0 ? `+${lines.added} -${lines.removed} lines` : '',
      tokens === 0 ? '' : `${tokens > 0 ? '+' : ''}${tokens} tokens`,
      fields.length > 0 ? fields.join(', ') : '',
      ...Object.entries(files).map(([what, paths]) => formatFiles(what, paths)),
    ];
    return `${kind.padEnd(7)}  ${name}  ${parts.filter((part) => part !== '').join('; ')}`.trimEnd();
  });
}

function formatFiles(what: string, paths: readonly string[]): string {
  if (paths.length > FILES_SHOWN) return `${paths.length} files ${what}`;
  return paths.length > 0 ? `files ${what}: ${paths.join(', ')}` : '';
}
