/**
 * A skill from the files of its folder, wherever they come from: checked by the one parser, under the limits that
 * every way in shares.
 */
import { isUtf8 } from 'node:buffer';
import { sha256Hex } from '../storage/digest.ts';
import type { Diagnostic } from './diagnostics.ts';
import { HOST_COMMANDS } from './invocable.ts';
import { checkFolderLimits, ENTRY_FILE, TESTS_FILE } from './limits.ts';
import { buildEntry, isResourcePath } from './manifest.ts';
import { type ParseMode, parseSkill } from './parse.ts';
import type { SkillEntry } from './types.ts';

/** UTF-16 units. The model is told every path. */
const MAX_PATH_LENGTH = 255;

export interface FolderFile {
  /** Relative to the skill's folder, `/` between parts. */
  path: string;
  bytes: Uint8Array;
}

export type BuiltSkill =
  | {
      kind: 'skill';
      entry: SkillEntry;
      /** The body and the resources, by the SHA-256 that they are stored under. */
      contents: Map<string, Uint8Array>;
      warnings: Diagnostic[];
    }
  | { kind: 'rejected'; diagnostics: Diagnostic[] };

export interface BuildOptions {
  /** `extended` where absent. */
  mode?: ParseMode;
  /** The host's commands; a skill of such a name is shadowed. */
  commands?: readonly string[];
}

/** `folder` is the skill's folder, which its name must equal; diagnostics name files below it. Does not throw. */
export function buildSkillFolder(
  folder: string,
  files: readonly FolderFile[],
  { mode = 'extended', commands = HOST_COMMANDS }: BuildOptions = {},
): BuiltSkill {
  const faults: Diagnostic[] = [];
  const kept = keepFiles(folder, files, faults);
  const source = kept.find(({ path }) => path === ENTRY_FILE);
  if (source === undefined) faults.push(describeMissing(folder, kept));
  for (const { kind, code, message } of checkFolderLimits(kept.map(measureFile))) {
    const severity = kind === 'over' ? 'error' : 'warning';
    faults.push({ file: `${folder}/${ENTRY_FILE}`, line: 1, severity, code, message });
  }
  if (source !== undefined && !isUtf8(source.bytes)) {
    addFault(faults, `${folder}/${ENTRY_FILE}`, 'not_utf8', `${ENTRY_FILE} must be UTF-8.`);
  }
  if (source === undefined || faults.some(isError)) return { kind: 'rejected', diagnostics: faults };

  // The BOM stays: the parser knows it in front of the header, and elsewhere it is part of the body.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source.bytes);
  const parsed = parseSkill(text, { file: `${folder}/${ENTRY_FILE}`, folder, mode });
  if (parsed.kind === 'rejected') {
    return { kind: 'rejected', diagnostics: [...faults, ...parsed.diagnostics] };
  }
  const contents = new Map<string, Uint8Array>();
  const resources = kept
    .filter((file) => file !== source)
    .map(({ path, bytes }) => {
      const digest = sha256Hex(bytes);
      contents.set(digest, bytes);
      return { path, digest, bytes: bytes.byteLength };
    });
  const entry = buildEntry(parsed.skill, parsed.body, resources);
  contents.set(entry.body, new TextEncoder().encode(parsed.body));
  return {
    kind: 'skill',
    entry,
    contents,
    warnings: [...faults, ...parsed.warnings, ...checkReach(entry, commands)],
  };
}

/** The files that belong to a skill; what is wrong with a path goes into `faults`. */
function keepFiles(folder: string, files: readonly FolderFile[], faults: Diagnostic[]): FolderFile[] {
  const kept = new Map<string, FolderFile>();
  for (const file of files) {
    const { path } = file;
    if (!isResourcePath(path) || !path.isWellFormed() || path.length > MAX_PATH_LENGTH) {
      const message = `The path ${JSON.stringify(path.slice(0, MAX_PATH_LENGTH))} is not allowed: it must be relative, without \`.\` or \`..\`, control characters, \`<\`, \`>\` and backslashes, and at most ${MAX_PATH_LENGTH} long.`;
      addFault(faults, folder, 'path_invalid', message);
    } else if (kept.has(path)) {
      addFault(faults, `${folder}/${path}`, 'path_repeated', 'The path occurs twice.');
    } else {
      const why = describeLeftOut(path);
      if (why === null) kept.set(path, file);
      else faults.push({ file: `${folder}/${path}`, line: 1, severity: 'warning', ...why });
    }
  }
  for (const path of kept.keys()) {
    const over = listFolders(path).find((parent) => kept.has(parent));
    if (over !== undefined)
      addFault(faults, `${folder}/${path}`, 'path_conflict', `${over} is a file already, so no folder.`);
  }
  return [...kept.values()];
}

function describeLeftOut(path: string): { code: string; message: string } | null {
  if (path === TESTS_FILE) return { code: 'tests_left_out', message: 'Tests are not published.' };
  return path.split('/').some((part) => part.startsWith('.'))
    ? { code: 'hidden_file', message: 'A hidden file is no part of a skill; it is left out.' }
    : null;
}

/** `a/b/c` is in `a` and in `a/b`. */
function listFolders(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function describeMissing(folder: string, files: readonly FolderFile[]): Diagnostic {
  const other = files.find(({ path }) => path.toLowerCase() === ENTRY_FILE.toLowerCase());
  const severity = 'error' as const;
  return other === undefined
    ? { file: folder, line: 1, severity, code: 'no_skill_file', message: `The folder has no ${ENTRY_FILE}.` }
    : {
        file: `${folder}/${other.path}`,
        line: 1,
        severity,
        code: 'wrong_case',
        message: `Name it ${ENTRY_FILE}, in this case.`,
      };
}

function measureFile({ path, bytes }: FolderFile): { path: string; bytes: number } {
  return { path, bytes: bytes.byteLength };
}

function checkReach(
  { name, userInvocable, modelInvocable }: SkillEntry,
  commands: readonly string[],
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const warn = (code: string, message: string): void => {
    found.push({ file: `${name}/${ENTRY_FILE}`, line: 1, severity: 'warning', code, message });
  };
  if (commands.includes(name)) {
    warn('shadowed_by_command', `The command /${name} of the host has this name: typing it never gets here.`);
  }
  if (!userInvocable && !modelInvocable)
    warn('unreachable', 'Neither a person nor the model may invoke this skill.');
  return found;
}

function addFault(faults: Diagnostic[], file: string, code: string, message: string): void {
  faults.push({ file, line: 1, severity: 'error', code, message });
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}
