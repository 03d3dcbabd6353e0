/** Zip, by its central directory. */
import type { Buffer } from 'node:buffer';
import { EventEmitter } from 'node:events';
import { crc32, inflateRawSync } from 'node:zlib';
import yauzl, { type Entry, type RandomAccessReader, type ZipFile } from 'yauzl';
import { archiveInvalid, PerchError } from '../errors.ts';
import { type ArchiveReader, type EntryHead, refuseArchive } from './archive.ts';
import { showPath } from './paths.ts';

/** The upper half of the external attributes is a mode where a Unix system made the archive. */
const MADE_BY_UNIX = 3;
const TYPE_MASK = 0xf000;
const TYPES: Record<number, EntryHead['kind']> = {
  0: 'file',
  32768: 'file', // 0x8000
  16384: 'directory', // 0x4000
  40960: { other: 'a symbolic link' }, // 0xa000
  8192: { other: 'a device' }, // 0x2000
  24576: { other: 'a device' }, // 0x6000
  4096: { other: 'a named pipe' }, // 0x1000
  49152: { other: 'a socket' }, // 0xc000
};
const STORED = 0;
const DEFLATED = 8;

/** Throws `archive_invalid`. */
export async function readZip(bytes: Uint8Array, reader: ArchiveReader): Promise<void> {
  let last: string | null = null;
  let compressed = 0;
  try {
    const zip = await yauzl.fromRandomAccessReaderPromise(openBytes(bytes), bytes.byteLength);
    for await (const entry of zip.eachEntry()) {
      const head = toHead(entry);
      last = head.name;
      reader.check(head);
      compressed += entry.compressedSize;
      if (compressed > bytes.byteLength) throw refuseArchive(head.name, 'lies over another entry');
      reader.add(head, head.kind === 'directory' ? null : await readEntry(zip, bytes, entry));
    }
  } catch (error) {
    if (error instanceof PerchError) throw error;
    throw describeFault(error, last);
  }
}

/**
 * Bytes that are read at once. The library's own reader of a buffer waits for the event loop at every read, which in
 * workerd makes seconds of a thousand entries.
 */
function openBytes(bytes: Uint8Array): RandomAccessReader {
  const refuse = (): never => {
    throw new Error('content is read from the bytes');
  };
  return Object.assign(new EventEmitter(), {
    ref: () => undefined,
    unref: () => undefined,
    close: () => undefined,
    createReadStream: refuse,
    _readStreamForRange: refuse,
    read(
      buffer: Buffer,
      offset: number,
      length: number,
      position: number,
      callback: (error: Error | null, bytesRead?: number) => void,
    ) {
      const part = bytes.subarray(position, position + length);
      buffer.set(part, offset);
      callback(null, part.byteLength);
    },
  });
}

function toHead({
  fileName: name,
  versionMadeBy,
  externalFileAttributes,
  uncompressedSize: bytes,
}: Entry): EntryHead {
  const isUnix = versionMadeBy >>> 8 === MADE_BY_UNIX;
  const type = isUnix ? (externalFileAttributes >>> 16) & TYPE_MASK : 0;
  if (name.endsWith('/')) return { name, kind: 'directory', bytes };
  const kind = TYPES[type] ?? { other: 'of an unknown kind' };
  return { name, kind: kind === 'directory' ? { other: 'a directory without a slash' } : kind, bytes };
}

async function readEntry(zip: ZipFile, bytes: Uint8Array, entry: Entry): Promise<Uint8Array> {
  const { fileName: name, compressionMethod: method, compressedSize, uncompressedSize } = entry;
  if (entry.isEncrypted()) throw refuseArchive(name, 'is encrypted');
  if (method !== STORED && method !== DEFLATED) throw refuseArchive(name, `is packed by method ${method}`);
  const { fileDataStart: start } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  const packed = bytes.subarray(start, start + compressedSize);
  const content = method === STORED ? packed.slice() : inflate(name, packed, uncompressedSize);
  if (crc32(content) !== entry.crc32) throw refuseArchive(name, 'is damaged: its checksum differs');
  return content;
}

/** At most as many bytes as the entry says, whatever is in it. */
function inflate(name: string, packed: Uint8Array, size: number): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) });
  } catch (error) {
    if (error instanceof RangeError) throw refuseArchive(name, 'is larger than it says');
    throw refuseArchive(name, 'is damaged or cut off');
  }
}

function describeFault(error: unknown, last: string | null): PerchError {
  const reason = error instanceof Error ? error.message : String(error);
  const where = last === null ? '' : ` after the entry ${showPath(last)}`;
  return archiveInvalid(
    `The zip archive cannot be read${where}: ${reason}.`,
    last === null ? {} : { entry: last.toWellFormed() },
  );
}
