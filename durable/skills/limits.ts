/** The files of a skill's folder, and the limits that every way in shares: the bundler's and a tenant's. */

export const ENTRY_FILE = 'SKILL.md';
/** What the skill's author expects of it: for the check of a folder of skills, and no part of what is published. */
export const TESTS_FILE = 'tests.yaml';

/** Files beside SKILL.md. Generous: more is a sign that a build folder got in. */
export const MAX_FILES = 256;
/** Of a skill's files together; a skill is read into memory whole while it is checked. */
const MAX_SKILL_BYTES = 4 * 1024 * 1024;
/** Of SKILL.md, which a model reads whole. */
const MAX_SKILL_MD_BYTES = 256 * 1024;

export interface LimitFinding {
  kind: 'over' | 'near';
  code: string;
  message: string;
}

/** What of a folder is over a limit, or near one. `bytes` is a file's size. */
export function checkFolderLimits(files: readonly { path: string; bytes: number }[]): LimitFinding[] {
  const entry = files.find(({ path }) => path === ENTRY_FILE);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    compare(`${ENTRY_FILE} has`, entry?.bytes ?? 0, MAX_SKILL_MD_BYTES, 'bytes', 'size'),
    compare(`Beside ${ENTRY_FILE} there are`, files.length - 1, MAX_FILES, 'files', 'files'),
    compare('The skill has', total, MAX_SKILL_BYTES, 'bytes', 'size'),
  ].flatMap((finding) => finding ?? []);
}

function compare(what: string, size: number, limit: number, unit: string, kind: string): LimitFinding | null {
  const message = `${what} ${size} ${unit}; ${limit} are allowed.`;
  if (size > limit) return { kind: 'over', code: 'too_large', message };
  return isNearLimit(size, limit) ? { kind: 'near', code: `near_limit_${kind}`, message } : null;
}

/** From 80 % of a limit its author is told. */
export function isNearLimit(size: number, limit: number): boolean {
  return size <= limit && size >= 0.8 * limit;
}
