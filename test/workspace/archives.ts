/** Archives made byte by byte, so that they can be wrong in every way. */
import { Buffer } from 'node:buffer';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

export interface TarEntry {
  name: string;
  content?: string | Uint8Array;
  /** `0` a file, `5` a directory, `2` a symbolic link … */
  type?: string;
  link?: string;
  /** What the header says, where it is not the truth. */
  size?: number;
  /** Raw bytes in the place of the name. */
  rawName?: Uint8Array;
}

export function makeTar(entries: readonly TarEntry[], { end = true } = {}): Uint8Array {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    return [
      makeHeader(entry, content.byteLength),
      content,
      Buffer.alloc((512 - (content.byteLength % 512)) % 512),
    ];
  });
  return new Uint8Array(Buffer.concat([...blocks, ...(end ? [Buffer.alloc(1_024)] : [])]));
}

function makeHeader({ name, type = '0', link = '', size, rawName }: TarEntry, bytes: number): Buffer {
  const header = Buffer.alloc(512);
  Buffer.from(rawName ?? Buffer.from(name)).copy(header, 0, 0, 100);
  header.write('0000644\0', 100);
  header.write(`${(size ?? bytes).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(link, 157);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = new Uint8Array(header).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** An entry with its path in a pax header before it. */
export function makePax(path: string, content: string): TarEntry[] {
  const rest = ` path=${path}\n`;
  let length = Buffer.byteLength(rest) + 2;
  while (`${length}`.length + Buffer.byteLength(rest) !== length)
    length = `${length}`.length + Buffer.byteLength(rest);
  return [
    { name: 'pax', type: 'x', content: `${length}${rest}` },
    { name: 'short', content },
  ];
}

export const gzip = (bytes: Uint8Array): Uint8Array => new Uint8Array(gzipSync(bytes));

export interface ZipEntry {
  name: string;
  content?: string | Uint8Array;
  store?: boolean;
  /** Bits of the general purpose flag; 0x1 is encrypted, 0x800 a name in UTF-8. */
  flags?: number;
  method?: number;
  /** A Unix mode, file type included. */
  mode?: number;
  size?: number;
  crc?: number;
  /** Puts the sizes into a zip64 extra field. */
  zip64?: boolean;
}

export function makeZip(entries: readonly ZipEntry[], { comment = '' } = {}): Uint8Array {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { local, central } = makeZipEntry(entry, offset);
    locals.push(local);
    directory.push(central);
    offset += local.byteLength;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.byteLength, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return new Uint8Array(Buffer.concat([...locals, central, end, Buffer.from(comment)]));
}

function makeZipEntry(entry: ZipEntry, offset: number): { local: Buffer; central: Buffer } {
  const { content = '', store = false, flags = 0x800, mode, zip64 = false } = entry;
  const name = Buffer.from(entry.name);
  const bytes = Buffer.from(content);
  const packed = store ? bytes : deflateRawSync(bytes);
  const size = entry.size ?? bytes.byteLength;
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(flags, 2);
  common.writeUInt16LE(entry.method ?? (store ? 0 : 8), 4);
  common.writeUInt32LE(entry.crc ?? crc32(bytes), 10);
  common.writeUInt32LE(zip64 ? 0xffffffff : packed.byteLength, 14);
  common.writeUInt32LE(zip64 ? 0xffffffff : size, 18);
  common.writeUInt16LE(name.byteLength, 22);
  const extra = Buffer.alloc(zip64 ? 20 : 0);
  if (zip64) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(16, 2);
    extra.writeBigUInt64LE(BigInt(size), 4);
    extra.writeBigUInt64LE(BigInt(packed.byteLength), 12);
  }
  common.writeUInt16LE(extra.byteLength, 24);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(mode === undefined ? 0 : (mode << 16) >>> 0, 6);
  rest.writeUInt32LE(offset, 10);
  const madeBy = Buffer.from([20, mode === undefined ? 0 : 3]);
  return {
    local: Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, extra, packed]),
    central: Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), madeBy, common, rest, name, extra]),
  };
}
