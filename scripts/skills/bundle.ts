/**
 * Bundles a folder of skills: reads and checks every skill, and lays the bundle out as it will be in KV (the layout
 * is in `durable/skills/manifest.ts`). A skill that is wrong is left out and named; it does not touch its siblings.
 */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import type { SkillEntry, SkillResource } from '../../durable/skills/index.ts';
import { HOST_COMMANDS } from '../../durable/skills/index.ts';
import { checkFolderLimits, ENTRY_FILE, TESTS_FILE } from '../../durable/skills/limits.ts';
import {
  type BuiltManifest,
  type BundlePointer,
  buildEntry,
  buildManifest,
  contentKey,
  isResourcePath,
  manifestKey,
} from '../../durable/skills/manifest.ts';
import { type ParseMode, parseSkill } from '../../durable/skills/parse.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
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
  const gathering: Gathering = { mode, contents: new Map(), diagnostics: [], tests: [] };
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
  for (const { name, userInvocable, modelInvocable } of skills) {
    const file = `${name}/${ENTRY_FILE}`;
    if (commands.includes(name)) {
      const message = `The command /${name} of the host has this name: typing it never reaches the skill "${name}".`;
      warn(diagnostics, file, 'shadowed_by_command', message);
    }
    if (!userInvocable && !modelInvocable) {
      warn(diagnostics, file, 'unreachable', 'Neither a person nor the model may invoke this skill.');
    }
  }
  const manifest = buildManifest(skills);
  const entries = [...contents].map(([digest, bytes]) => ({ key: contentKey(digest), bytes }));
  entries.push({ key: manifestKey(manifest.digest), bytes: new TextEncoder().encode(manifest.text) });
  const pointer = { manifest: manifest.digest, published_at: publishedAt };
  return { skills: manifest.skills, diagnostics, tests, manifest, pointer, entries };
}

/** Null, with the reason in `diagnostics`, where the folder is no skill that can be published. */
async function readSkill(dir: string, folder: string, gathering: Gathering): Promise<SkillEntry | null> {
  const { mode, contents, diagnostics } = gathering;
  const fail = (file: string, code: string, message: string): null => {
    diagnostics.push({ file, line: 1, severity: 'error', code, message });
    return null;
  };
  const names = (await readFolder(join(dir, folder)))
    .filter((item) => item.isFile())
    .map((item) => item.name);
  const file = `${folder}/${ENTRY_FILE}`;
  if (!names.includes(ENTRY_FILE)) {
    const other = names.find((name) => name.toLowerCase() === ENTRY_FILE.toLowerCase());
    if (other !== undefined)
      return fail(`${folder}/${other}`, 'wrong_case', `Name it ${ENTRY_FILE}, in this case.`);
    warn(diagnostics, folder, 'no_skill_file', `The folder has no ${ENTRY_FILE} and is left out.`);
    return null;
  }
  const { files: all, faults } = await listFiles(join(dir, folder));
  const files = all.filter(({ path }) => path !== TESTS_FILE);
  for (const { path, code, message } of faults) warn(diagnostics, `${folder}/${path}`, code, message);
  const limits = checkFolderLimits(files);
  const over = limits.find(({ kind }) => kind === 'over');
  if (over !== undefined) return fail(file, over.code, over.message);
  for (const { code, message } of limits) warn(diagnostics, file, code, message);
  const odd = files.find(({ path }) => !isResourcePath(path));
  if (odd !== undefined)
    return fail(`${folder}/${odd.path}`, 'path_invalid', 'The path has a character that is not allowed.');

  const source = await readFile(join(dir, file));
  if (!isUtf8(source)) return fail(file, 'not_utf8', `${ENTRY_FILE} must be UTF-8.`);
  // The BOM stays: the parser knows it in front of the header, and elsewhere it is part of the body.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  const parsed = parseSkill(text, { file, folder, mode });
  diagnostics.push(...(parsed.kind === 'skill' ? parsed.warnings : parsed.diagnostics));
  if (parsed.kind === 'rejected') return null;

  const paths = files.map(({ path }) => path).filter((path) => path !== ENTRY_FILE);
  const resources = await readResources(join(dir, folder), paths, contents);
  const entry = buildEntry(parsed.skill, parsed.body, resources);
  contents.set(entry.body, new TextEncoder().encode(parsed.body));
  if (files.length < all.length) {
    const tests = `${folder}/${TESTS_FILE}`;
    gathering.tests.push({ skill: folder, file: tests, text: await readFile(join(dir, tests), 'utf8') });
  }
  return entry;
}

async function readResources(
  root: string,
  paths: readonly string[],
  contents: Map<string, Uint8Array>,
): Promise<SkillResource[]> {
  const resources: SkillResource[] = [];
  for (const path of paths) {
    const bytes = new Uint8Array(await readFile(join(root, path)));
    const digest = sha256Hex(bytes);
    contents.set(digest, bytes);
    resources.push({ path, digest, bytes: bytes.byteLength });
  }
  return resources;
}

function warn(diagnostics: Diagnostic[], file: string, code: string, message: string): void {
  diagnostics.push({ file, line: 1, severity: 'warning', code, message });
}
