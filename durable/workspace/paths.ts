/**
 * Paths of the workspace: POSIX, case sensitive, and as they were written. `~`, a backslash, blanks and any other
 * printable character are ordinary parts of a name; nothing is expanded, and Unicode is not normalised.
 */
import { pathInvalid } from '../errors.ts';

/** UTF-8 bytes of a resolved path: the limit of POSIX systems' object stores, so that files can go on to one. */
export const MAX_PATH_BYTES = 1_024;
/** UTF-8 bytes of one part: the limit of file systems, so that files can be brought out to one. */
export const MAX_NAME_BYTES = 255;
/** UTF-16 units of a path before it is resolved: what it may spend on `.` and `..`. */
const MAX_WRITTEN_LENGTH = 4_096;
/** Characters of a path that an error shows. */
const SHOWN_CHARS = 120;

/** Controls (Unicode class Cc, NUL among them) and line ends: a listing has one path a line. */
const FORBIDDEN = /[\p{Cc}\u2028\u2029]/u;

const encoder = new TextEncoder();

/**
 * The absolute, normalised form: no `.`, `..`, doubled or trailing slash. `..` at the root stays there, so no path leads
 * out. `cwd` is absolute and normalised. Throws `path_invalid` and nothing else.
 */
export function resolvePath(cwd: string, path: string): string {
  checkWritten(path);
  const parts: string[] = path.startsWith('/') ? [] : splitPath(cwd);
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  const resolved = `/${parts.join('/')}`;
  checkLength(path, resolved, parts);
  return resolved;
}

function checkWritten(path: string): void {
  if (path === '') throw pathInvalid('A path is empty. The working directory is `.`.');
  if (path.length > MAX_WRITTEN_LENGTH) {
    throw pathInvalid(`A path of ${path.length} characters is too long: ${showPath(path)}`);
  }
  if (!path.isWellFormed()) throw pathInvalid(`The path ${showPath(path)} is no Unicode text.`);
  if (FORBIDDEN.test(path)) throw pathInvalid(`The path ${showPath(path)} has a control character in it.`);
}

function checkLength(path: string, resolved: string, parts: readonly string[]): void {
  // A UTF-16 unit is at most three bytes: most paths need no count.
  if (resolved.length * 3 <= MAX_NAME_BYTES) return;
  const long = parts.find((part) => countBytes(part) > MAX_NAME_BYTES);
  if (long !== undefined) {
    throw pathInvalid(`A name in ${showPath(path)} has over ${MAX_NAME_BYTES} bytes.`, {
      limit_bytes: MAX_NAME_BYTES,
    });
  }
  if (countBytes(resolved) > MAX_PATH_BYTES) {
    throw pathInvalid(`The path ${showPath(path)} has over ${MAX_PATH_BYTES} bytes.`, {
      limit_bytes: MAX_PATH_BYTES,
    });
  }
}

function countBytes(text: string): number {
  return encoder.encode(text).byteLength;
}

/** As JSON, so that what cannot be seen shows; long ones shortened. */
export function showPath(path: string): string {
  const shown = path.length > SHOWN_CHARS ? `${path.slice(0, SHOWN_CHARS)}…` : path;
  return JSON.stringify(shown.toWellFormed());
}

/** Of an absolute, normalised path. */
export function splitPath(path: string): string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

/** The directory that a path stands in; the root is its own. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Every directory over a path, the outermost first, without the root. */
export function ancestorsOf(path: string): string[] {
  const parts = splitPath(path);
  return parts.slice(1).map((_, i) => `/${parts.slice(0, i + 1).join('/')}`);
}

/** Whether `path` is under `directory`; no directory is under itself. */
export function isUnder(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The path as seen from a directory that it is under. */
export function relativeTo(path: string, directory: string): string {
  return path.slice(directory === '/' ? 1 : directory.length + 1);
}
