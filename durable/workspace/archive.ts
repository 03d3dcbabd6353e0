/**
 * Archives that strangers send. Everything is unpacked and checked in memory before a file is written, so an archive
 * comes in whole or not at all. The readers are loaded when they are first needed.
 */
import { archiveInvalid, type Facts, PerchError } from '../errors.ts';
import { nameOf, resolvePath, showPath } from './paths.ts';
import { MAX_FILE_BYTES } from './tables.ts';

/** Of the archive as it comes: what a file may have, too. */
export const MAX_ARCHIVE_BYTES = 16_000_000;
/** Of what is in it: for a moment an isolate of 128 MB holds it twice, and the archive. */
const MAX_UNPACKED_BYTES = 32_000_000;
export const MAX_ARCHIVE_ENTRIES = 10_000;
/** How many times as large as the archive its content may be; a compressor reaches 1,000 on zeros, 20 on the best text. */
const MAX_RATIO = 200;
/** Content that no ratio is asked of: what a few zeros unpack to harms nobody. */
const FREE_BYTES = 4_000_000;

export interface ArchiveFile {
  /** Relative and normalised, without `.` or `..`. */
  path: string;
  /** Null for a directory. */
  bytes: Uint8Array | null;
}

export interface EntryHead {
  name: string;
  /** `other` with its kind in words: a link, a device. */
  kind: 'file' | 'directory' | { other: string };
  /** As the archive says. */
  bytes: number;
}

/** Takes entries one by one, and refuses the archive at the first that breaks a rule. */
export interface ArchiveReader {
  /** What stands before the content is read: throws `archive_invalid`. */
  check: (head: EntryHead) => void;
  /** The entry just checked, with its content. Throws where it is not what the head said. */
  add: (head: EntryHead, bytes: Uint8Array | null) => void;
}

/** Zip, tar and gzipped tar, by what is in the bytes. Throws `archive_invalid`, naming the entry where there is one. */
export async function unpackArchive(bytes: Uint8Array): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = [];
  const reader = createReader(bytes.byteLength, files);
  if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0x50, 0x4b, 0x05, 0x06])) {
    const { readZip } = await import('./archive-zip.ts');
    await readZip(bytes, reader);
  } else {
    const { readTar } = await import('./archive-tar.ts');
    await readTar(bytes, limitUnpacked(bytes.byteLength), reader);
  }
  return files;
}

/** Bytes that an archive of this size may unpack to. */
function limitUnpacked(archiveBytes: number): number {
  return Math.min(MAX_UNPACKED_BYTES, Math.max(FREE_BYTES, archiveBytes * MAX_RATIO));
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, i) => bytes[i] === byte);
}

function createReader(archiveBytes: number, files: ArchiveFile[]): ArchiveReader {
  const kinds = new Map<string, 'file' | 'directory'>();
  const limit = limitUnpacked(archiveBytes);
  let entries = 0;
  let total = 0;
  return {
    check({ name, kind, bytes }) {
      if (++entries > MAX_ARCHIVE_ENTRIES) {
        throw refuseArchive(name, `is one entry more than the ${MAX_ARCHIVE_ENTRIES} allowed`);
      }
      if (typeof kind === 'object') throw refuseArchive(name, `is ${kind.other}: only files and directories`);
      checkName(name, kind);
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw refuseArchive(name, 'has no valid size');
      if (bytes > MAX_FILE_BYTES) {
        throw refuseArchive(name, `has ${bytes} bytes; ${MAX_FILE_BYTES} are allowed`);
      }
      total += bytes;
      if (total > limit) {
        throw refuseArchive(name, `brings what is unpacked over ${limit} bytes`, {
          limit_bytes: limit,
          archive_bytes: archiveBytes,
        });
      }
    },
    add({ name, bytes: expected }, bytes) {
      if ((bytes?.byteLength ?? 0) !== expected) throw refuseArchive(name, 'has another size than it says');
      const path = toRelative(name);
      if (path === '') return;
      claimPath(kinds, path, bytes === null ? 'directory' : 'file', name);
      files.push({ path, bytes });
    },
  };
}

/** Names are kept as they are written, so one that would lead out of the directory, or hide where it leads, is refused. */
function checkName(name: string, kind: 'file' | 'directory'): void {
  if (name.trim() === '' || (kind === 'file' && /^[./]+$/.test(name)))
    throw refuseArchive(name, 'has no name');
  if (name.includes('\ufffd')) throw refuseArchive(name, 'has a name that is no UTF-8');
  if (name.startsWith('/') || name.startsWith('\\') || /^[A-Za-z]:/.test(name)) {
    throw refuseArchive(name, 'has an absolute path');
  }
  if (name.split(/[/\\]/).includes('..')) throw refuseArchive(name, 'leads out with `..`');
  try {
    resolvePath('/', name);
  } catch (error) {
    if (!(error instanceof PerchError)) throw error;
    throw refuseArchive(name, `is no path here: ${error.data.detail}`);
  }
}

function toRelative(name: string): string {
  return resolvePath('/', name).slice(1);
}

/** One name, one entry: what comes twice means one thing to this reader and another to the next. */
function claimPath(
  kinds: Map<string, 'file' | 'directory'>,
  path: string,
  kind: 'file' | 'directory',
  name: string,
): void {
  const known = kinds.get(path);
  if (known === 'file' || (known === 'directory' && kind === 'file')) {
    throw refuseArchive(name, known === kind ? 'is there twice' : 'is both a file and a directory');
  }
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const parent = path.slice(0, at);
    if (kinds.get(parent) === 'file') {
      throw refuseArchive(name, `is in ${showPath(nameOf(parent))}, which is a file of the archive`);
    }
    kinds.set(parent, 'directory');
  }
  kinds.set(path, kind);
}

/** The entry by its name, and what is wrong with it. */
export function refuseArchive(entry: string, why: string, facts: Facts = {}): PerchError {
  return archiveInvalid(`The entry ${showPath(entry)} ${why}.`, { entry: entry.toWellFormed(), ...facts });
}
