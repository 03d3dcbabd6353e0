/** Tar, plain or gzipped. */
import { gunzipSync } from 'node:zlib';
import { type TarHeader, unpackTar } from 'modern-tar';
import { archiveInvalid, PerchError } from '../errors.ts';
import { type ArchiveReader, type EntryHead, MAX_ARCHIVE_ENTRIES } from './archive.ts';
import { showPath } from './paths.ts';

/** What an entry costs beside its content: header, padding, and a long name's own entry. */
const ENTRY_BYTES = 2_560;
/** `ustar`, in each header. */
const MAGIC = [0x75, 0x73, 0x74, 0x61, 0x72];
const MAGIC_AT = 257;

const KINDS: Record<string, EntryHead['kind']> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  symlink: { other: 'a symbolic link' },
  link: { other: 'a hard link' },
  'character-device': { other: 'a device' },
  'block-device': { other: 'a device' },
  fifo: { other: 'a named pipe' },
};

/** `limit` is what the content may have, in bytes. Throws `archive_invalid`. */
export async function readTar(bytes: Uint8Array, limit: number, reader: ArchiveReader): Promise<void> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const tar = isGzip ? unzip(bytes, limit + MAX_ARCHIVE_ENTRIES * ENTRY_BYTES) : bytes;
  let last: string | null = null;
  const filter = (header: TarHeader): boolean => {
    const head = toHead(header);
    reader.check(head);
    last = head.name;
    return true;
  };
  try {
    for (const { header, data } of await unpackTar(tar, { strict: true, filter })) {
      const head = toHead(header);
      reader.add(head, head.kind === 'directory' ? null : (data ?? new Uint8Array()));
    }
  } catch (error) {
    if (error instanceof PerchError) throw error;
    throw describeFault(error, last, isGzip, tar);
  }
}

function toHead({ name, type = 'file', size = 0 }: TarHeader): EntryHead {
  const kind = KINDS[type] ?? { other: `of the kind ${type}` };
  return { name, kind, bytes: kind === 'directory' ? 0 : size };
}

function unzip(bytes: Uint8Array, limit: number): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch (error) {
    if (error instanceof RangeError) {
      throw archiveInvalid(`The archive unpacks to over ${limit} bytes.`, {
        limit_bytes: limit,
        archive_bytes: bytes.byteLength,
      });
    }
    throw archiveInvalid('The gzip stream is damaged or cut off.');
  }
}

function describeFault(error: unknown, last: string | null, isGzip: boolean, tar: Uint8Array): PerchError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  if (last !== null) {
    const detail = `The tar archive cannot be read on from the entry ${showPath(last)}: ${reason}.`;
    return archiveInvalid(detail, { entry: last });
  }
  const isTar = MAGIC.every((byte, i) => tar[MAGIC_AT + i] === byte);
  const what = isTar
    ? 'The tar archive cannot be read'
    : isGzip
      ? 'What the gzip stream holds is no tar archive'
      : 'This is no zip, tar or tar.gz';
  return archiveInvalid(`${what}: ${reason}.`);
}
