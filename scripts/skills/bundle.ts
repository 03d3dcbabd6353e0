/**
 * Bundles a folder of skills: reads and checks every skill, and lays the bundle out as it will be in KV (the layout
 * is in `durable/skills/manifest.ts`). A skill that is wrong is left out and named; it does not touch its siblings.
 */
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareCodeUnits } from '../../durable/skills/canonical.ts';
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import type { SkillEntry, SkillResource } from '../../durable/skills/index.ts';
import { HOST_COMMANDS } from '../../durable/skills/index.ts';
import {
  type BuiltManifest,
  type BundlePointer,
  buildEntry,
  buildManifest,
  contentKey,
  isResourcePath,
  manifestKey,
} from '../../durable/skills/manifest.ts';
import { parseSkill } from '../../durable/skills/parse.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';

/** Files beside SKILL.md. Generous: more is a sign that a build folder got in. */
export const MAX_FILES = 256;
/** Of a skill's files together; a skill is read into memory whole while it is bundled. */
const MAX_SKILL_BYTES = 4 * 1024 * 1024;
/** Of SKILL.md, which a model reads whole. */
const MAX_SKILL_MD_BYTES = 256 * 1024;

const ENTRY_FILE = 'SKILL.md';

export interface KvEntry {
  key: string;
  bytes: Uint8Array;
}

export interface Bundle {
  /** The accepted skills, sorted by name. */
  skills: SkillEntry[];
  /** Of all skills, in the order of their folders. An `error` kept a skill out. */
  diagnostics: Diagnostic[];
  manifest: BuiltManifest;
  pointer: BundlePointer;
  /** What must be in KV before the pointer is: contents first, the manifest last. */
  entries: KvEntry[];
}

/**
 * Every folder of `dir` is a skill; a SKILL.md deeper inside is a resource of it. Diagnostics name files relative to
 * `dir`. `publishedAt` (milliseconds since the epoch) goes into the pointer. Throws where `dir` cannot be read.
 */
export async function bundleSkills(
  dir: string,
  {
    publishedAt = Date.now(),
    commands = HOST_COMMANDS,
  }: { publishedAt?: number; commands?: readonly string[] } = {},
): Promise<Bundle> {
  const contents = new Map<string, Uint8Array>();
  const diagnostics: Diagnostic[] = [];
  const skills: SkillEntry[] = [];
  const items = await readFolder(dir).catch((cause: unknown) => {
    throw new Error(`The folder of skills cannot be read: ${dir}`, { cause });
  });
  for (const item of items) {
    if (item.isFile() && item.name.toLowerCase() === ENTRY_FILE.toLowerCase()) {
      warn(diagnostics, item.name, 'skill_not_in_folder', 'A skill needs a folder of its own.');
    }
    if (!item.isDirectory()) continue;
    const skill = await readSkill(dir, item.name, contents, diagnostics);
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
  return { skills: manifest.skills, diagnostics, manifest, pointer, entries };
}

/** Null, with the reason in `diagnostics`, where the folder is no skill that can be published. */
async function readSkill(
  dir: string,
  folder: string,
  contents: Map<string, Uint8Array>,
  diagnostics: Diagnostic[],
): Promise<SkillEntry | null> {
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
  const { files, faults } = await listFiles(join(dir, folder), '');
  for (const { path, code, message } of faults) warn(diagnostics, `${folder}/${path}`, code, message);
  const tooLarge = checkLimits(files);
  if (tooLarge !== null) return fail(file, 'too_large', tooLarge);
  const odd = files.find(({ path }) => !isResourcePath(path));
  if (odd !== undefined)
    return fail(`${folder}/${odd.path}`, 'path_invalid', 'The path has a character that is not allowed.');

  const source = await readFile(join(dir, file));
  if (!isUtf8(source)) return fail(file, 'not_utf8', `${ENTRY_FILE} must be UTF-8.`);
  // The BOM stays: the parser knows it in front of the header, and elsewhere it is part of the body.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  const parsed = parseSkill(text, { file, folder });
  diagnostics.push(...(parsed.kind === 'skill' ? parsed.warnings : parsed.diagnostics));
  if (parsed.kind === 'rejected') return null;

  const paths = files.map(({ path }) => path).filter((path) => path !== ENTRY_FILE);
  const resources = await readResources(join(dir, folder), paths, contents);
  const entry = buildEntry(parsed.skill, parsed.body, resources);
  contents.set(entry.body, new TextEncoder().encode(parsed.body));
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

interface FoundFile {
  /** Relative to the skill's folder, `/` between parts. */
  path: string;
  bytes: number;
}
interface FoundFiles {
  files: FoundFile[];
  faults: { path: string; code: string; message: string }[];
}

/** All files under a folder, sorted. Hidden ones (`.DS_Store`, `.git`) are no part of a skill. */
async function listFiles(root: string, under: string): Promise<FoundFiles> {
  const found: FoundFiles = { files: [], faults: [] };
  for (const item of await readFolder(join(root, under))) {
    const path = under === '' ? item.name : `${under}/${item.name}`;
    if (item.isDirectory()) {
      const inner = await listFiles(root, path);
      found.files.push(...inner.files);
      found.faults.push(...inner.faults);
    } else if (item.isFile()) {
      found.files.push({ path, bytes: (await stat(join(root, path))).size });
    } else {
      const message = 'Neither a file nor a folder (a link could lead out of the skill); it is left out.';
      found.faults.push({ path, code: 'not_a_file', message });
    }
  }
  return found;
}

/** What is too large, in words; null where nothing is. */
function checkLimits(files: readonly FoundFile[]): string | null {
  const entry = files.find(({ path }) => path === ENTRY_FILE);
  if (entry !== undefined && entry.bytes > MAX_SKILL_MD_BYTES) {
    return `${ENTRY_FILE} has ${entry.bytes} bytes; ${MAX_SKILL_MD_BYTES} are allowed.`;
  }
  if (files.length - 1 > MAX_FILES) {
    return `There are ${files.length - 1} files beside ${ENTRY_FILE}; ${MAX_FILES} are allowed.`;
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return total <= MAX_SKILL_BYTES ? null : `The skill has ${total} bytes; ${MAX_SKILL_BYTES} are allowed.`;
}

async function readFolder(path: string) {
  const items = await readdir(path, { withFileTypes: true });
  return items.filter(({ name }) => !name.startsWith('.')).sort((a, b) => compareCodeUnits(a.name, b.name));
}

function warn(diagnostics: Diagnostic[], file: string, code: string, message: string): void {
  diagnostics.push({ file, line: 1, severity: 'warning', code, message });
}
