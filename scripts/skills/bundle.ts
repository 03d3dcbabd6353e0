/**
 * Bundles a folder of skills: reads and checks every skill, and lays the bundle out as it will be in KV (the layout
 * is in `durable/skills/manifest.ts`). A skill that is wrong is left out and named; it does not touch its siblings.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import { buildSkillFolder } from '../../durable/skills/folder.ts';
import type { SkillEntry } from '../../durable/skills/index.ts';
import { HOST_COMMANDS } from '../../durable/skills/index.ts';
import { checkFolderLimits, ENTRY_FILE, TESTS_FILE } from '../../durable/skills/limits.ts';
import {
  type BuiltManifest,
  type BundlePointer,
  buildManifest,
  contentKey,
  manifestKey,
} from '../../durable/skills/manifest.ts';
import type { ParseMode } from '../../durable/skills/parse.ts';
import { listFiles, readFolder } from './folder.ts';

export interface KvEntry {
  key: string;
  bytes: Uint8Array;
}

/** A skill's tests as their author wrote them. */
export interface SkillTests {
  skill: string;
  /** Relative to the folder of skills. */
  file: string;
  text: string;
}

export interface Bundle {
  /** The accepted skills, sorted by name. */
  skills: SkillEntry[];
  /** Of all skills, in the order of their folders. An `error` kept a skill out. */
  diagnostics: Diagnostic[];
  /** Of the accepted skills; not published. */
  tests: SkillTests[];
  manifest: BuiltManifest;
  pointer: BundlePointer;
  /** What must be in KV before the pointer is: contents first, the manifest last. */
  entries: KvEntry[];
}

interface BundleOptions {
  /** Milliseconds since the epoch. */
  publishedAt?: number;
  commands?: readonly string[];
  mode?: ParseMode;
}

/** What bundling gathers. */
interface Gathering extends Pick<Bundle, 'diagnostics' | 'tests'> {
  mode: ParseMode;
  commands: readonly string[];
  contents: Map<string, Uint8Array>;
}

/**
 * Every folder of `dir` is a skill; a SKILL.md deeper inside is a resource of it. Diagnostics name files relative to
 * `dir`. `publishedAt` (milliseconds since the epoch) goes into the pointer. Throws where `dir` cannot be read.
 */
export async function bundleSkills(
  dir: string,
  { publishedAt = Date.now(), commands = HOST_COMMANDS, mode = 'extended' }: BundleOptions = {},
): Promise<Bundle> {
  const gathering: Gathering = { mode, commands, contents: new Map(), diagnostics: [], tests: [] };
  const { contents, diagnostics, tests } = gathering;
  const skills: SkillEntry[] = [];
  const items = await readFolder(dir).catch((cause: unknown) => {
    throw new Error(`The folder of skills cannot be read: ${dir}`, { cause });
  });
  for (const item of items) {
    if (item.isFile() && item.name.toLowerCase() === ENTRY_FILE.toLowerCase()) {
      warn(diagnostics, item.name, 'skill_not_in_folder', 'A skill needs a folder of its own.');
    }
    if (!item.isDirectory()) continue;
    const skill = await readSkill(dir, item.name, gathering);
    if (skill !== null) skills.push(skill);
  }
  const manifest = buildManifest(skills);
  const entries = [...contents].map(([digest, bytes]) => ({ key: contentKey(digest), bytes }));
  entries.push({ key: manifestKey(manifest.digest), bytes: new TextEncoder().encode(manifest.text) });
  const pointer = { manifest: manifest.digest, published_at: publishedAt };
  return { skills: manifest.skills, diagnostics, tests, manifest, pointer, entries };
}

/** Null, with the reason in `diagnostics`, where the folder is no skill that can be published. */
async function readSkill(dir: string, folder: string, gathering: Gathering): Promise<SkillEntry | null> {
  const { mode, commands, contents, diagnostics } = gathering;
  const { files: found, faults } = await listFiles(join(dir, folder));
  for (const { path, code, message } of faults) warn(diagnostics, `${folder}/${path}`, code, message);
  if (!found.some(({ path }) => path.toLowerCase() === ENTRY_FILE.toLowerCase())) {
    warn(diagnostics, folder, 'no_skill_file', `The folder has no ${ENTRY_FILE} and is left out.`);
    return null;
  }
  const published = found.filter(({ path }) => path !== TESTS_FILE);
  // Before anything is read: a folder that is far too large is not worth the memory.
  const over = checkFolderLimits(published).find(({ kind }) => kind === 'over');
  if (over !== undefined) {
    const file = `${folder}/${ENTRY_FILE}`;
    diagnostics.push({ file, line: 1, severity: 'error', code: over.code, message: over.message });
    return null;
  }
  const files = await Promise.all(
    published.map(async ({ path }) => ({
      path,
      bytes: new Uint8Array(await readFile(join(dir, folder, path))),
    })),
  );
  const built = buildSkillFolder(folder, files, { mode, commands });
  diagnostics.push(...(built.kind === 'skill' ? built.warnings : built.diagnostics));
  if (built.kind === 'rejected') return null;
  for (const [digest, bytes] of built.contents) contents.set(digest, bytes);
  if (published.length < found.length) {
    const tests = `${folder}/${TESTS_FILE}`;
    gathering.tests.push({ skill: folder, file: tests, text: await readFile(join(dir, tests), 'utf8') });
  }
  return built.entry;
}

function warn(diagnostics: Diagnostic[], file: string, code: string, message: string): void {
  diagnostics.push({ file, line: 1, severity: 'warning', code, message });
}
