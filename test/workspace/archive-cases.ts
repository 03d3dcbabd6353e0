/** Archives that are refused: what each is, and what its error says. */

import { gzip, makePax, makeTar, makeZip } from './archives.ts';

export interface BadArchive {
  what: string;
  make: () => Uint8Array;
  says: RegExp;
  /** The entry that the error names. */
  entry?: string;
}

const toBytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes);

export const BAD_ARCHIVES: readonly BadArchive[] = [
  { what: 'nothing', make: () => zeros(0), says: /no zip, tar or tar\.gz/ },
  { what: 'plain text', make: () => toBytes('hello\n'.repeat(200)), says: /no zip, tar or tar\.gz/ },
  // Tar
  { what: 'tar with ..', make: () => makeTar([{ name: '../evil' }]), says: /leads out/, entry: '../evil' },
  {
    what: 'tar with .. inside',
    make: () => makeTar([{ name: 'a/../b' }]),
    says: /leads out/,
    entry: 'a/../b',
  },
  {
    what: 'tar with an absolute path',
    make: () => makeTar([{ name: '/etc/passwd' }]),
    says: /absolute/,
    entry: '/etc/passwd',
  },
  {
    what: 'tar with .. behind backslashes',
    make: () => makeTar([{ name: 'a\\..\\b' }]),
    says: /leads out/,
    entry: 'a\\..\\b',
  },
  {
    what: 'tar with a symbolic link',
    make: () => makeTar([{ name: 'ok' }, { name: 'l', type: '2', link: '/etc' }]),
    says: /a symbolic link/,
    entry: 'l',
  },
  {
    what: 'tar with a hard link',
    make: () => makeTar([{ name: 'l', type: '1', link: 'a' }]),
    says: /a hard link/,
    entry: 'l',
  },
  {
    what: 'tar with a device',
    make: () => makeTar([{ name: 'd', type: '3' }]),
    says: /a device/,
    entry: 'd',
  },
  {
    what: 'tar with a block device',
    make: () => makeTar([{ name: 'd', type: '4' }]),
    says: /a device/,
    entry: 'd',
  },
  {
    what: 'tar with a pipe',
    make: () => makeTar([{ name: 'p', type: '6' }]),
    says: /a named pipe/,
    entry: 'p',
  },
  {
    what: 'tar with a NUL in a pax path',
    make: () => makeTar(makePax('a\0b', 'x')),
    says: /control character/,
    entry: 'a\0b',
  },
  {
    what: 'tar with .. in a pax path',
    make: () => makeTar(makePax('../../x', 'x')),
    says: /leads out/,
    entry: '../../x',
  },
  {
    what: 'tar with a name twice',
    make: () => makeTar([{ name: 'a' }, { name: './a' }]),
    says: /there twice/,
    entry: './a',
  },
  {
    what: 'tar with a file that is a directory, too',
    make: () => makeTar([{ name: 'a' }, { name: 'a/b' }]),
    says: /which is a file/,
    entry: 'a/b',
  },
  {
    what: 'tar with a directory that is a file, too',
    make: () => makeTar([{ name: 'a/b' }, { name: 'a' }]),
    says: /both/,
    entry: 'a',
  },
  {
    what: 'tar with a name that is no UTF-8',
    make: () => makeTar([{ name: '', rawName: new Uint8Array([0x61, 0xff]) }]),
    says: /no UTF-8/,
  },
  {
    what: 'tar with a name that is too long',
    make: () => makeTar(makePax('x'.repeat(300), '')),
    says: /255 bytes/,
  },
  { what: 'tar with no name', make: () => makeTar([{ name: '' }]), says: /no name/ },
  {
    what: 'tar that is cut off in a file',
    make: () => makeTar([{ name: 'a', content: 'x'.repeat(2_000) }]).slice(0, 1_500),
    says: /truncated/,
    entry: 'a',
  },
  {
    what: 'tar that is cut off between files',
    make: () => makeTar([{ name: 'a', content: 'x' }], { end: false }),
    says: /truncated/,
    entry: 'a',
  },
  {
    what: 'tar with a damaged header',
    make: () => makeTar([{ name: 'a' }, { name: 'b' }]).with(512, 0x78),
    says: /checksum/,
    entry: 'a',
  },
  {
    what: 'tar with a file that is too large',
    make: () => makeTar([{ name: 'big', size: 17_000_000 }]),
    says: /16000000 are allowed/,
    entry: 'big',
  },
  {
    what: 'tar with a size of terabytes',
    make: () => makeTar([{ name: 'big', size: 2 ** 32 }]),
    says: /are allowed/,
    entry: 'big',
  },
  {
    what: 'tar with too many entries',
    make: () => makeTar(Array.from({ length: 10_001 }, (_, i) => ({ name: `d${i}/`, type: '5' }))),
    says: /10000 allowed/,
    entry: 'd10000/',
  },
  // Gzip
  {
    what: 'gzip that is cut off',
    make: () => gzip(makeTar([{ name: 'a', content: 'x'.repeat(5_000) }])).slice(0, -20),
    says: /damaged or cut off/,
  },
  {
    what: 'gzip with a damaged byte',
    make: () => gzip(makeTar([{ name: 'a', content: 'some text' }])).with(30, 0xff),
    says: /damaged|no tar/,
  },
  { what: 'gzip of no tar', make: () => gzip(toBytes('text'.repeat(300))), says: /holds is no tar/ },
  {
    what: 'gzip bomb of one file',
    make: () => gzip(makeTar([{ name: 'bomb', content: zeros(15_000_000) }])),
    says: /over \d+ bytes/,
    entry: 'bomb',
  },
  { what: 'gzip bomb that is no tar', make: () => gzip(zeros(60_000_000)), says: /unpacks to over/ },
  // Zip
  { what: 'zip with ..', make: () => makeZip([{ name: '../evil' }]), says: /relative path|leads out/ },
  { what: 'zip with an absolute path', make: () => makeZip([{ name: '/etc/passwd' }]), says: /absolute/ },
  { what: 'zip with a drive', make: () => makeZip([{ name: 'C:/a' }]), says: /absolute/ },
  {
    what: 'zip with .. behind backslashes',
    make: () => makeZip([{ name: 'a\\..\\..\\b' }]),
    says: /relative path|leads out/,
  },
  {
    what: 'zip with a NUL',
    make: () => makeZip([{ name: 'a\0b' }]),
    says: /control character/,
    entry: 'a\0b',
  },
  {
    what: 'zip with a symbolic link',
    make: () => makeZip([{ name: 'l', content: '/etc', mode: 0o120777 }]),
    says: /a symbolic link/,
    entry: 'l',
  },
  {
    what: 'zip with a device',
    make: () => makeZip([{ name: 'd', mode: 0o020666 }]),
    says: /a device/,
    entry: 'd',
  },
  {
    what: 'zip with a name twice',
    make: () => makeZip([{ name: 'a' }, { name: 'a' }]),
    says: /there twice/,
    entry: 'a',
  },
  {
    what: 'zip with a file that is a directory, too',
    make: () => makeZip([{ name: 'a' }, { name: 'a/b' }]),
    says: /which is a file/,
    entry: 'a/b',
  },
  {
    what: 'zip with an encrypted entry',
    make: () => makeZip([{ name: 'ok' }, { name: 'secret', flags: 0x801 }]),
    says: /encrypted/,
    entry: 'secret',
  },
  {
    what: 'zip with strong encryption',
    make: () => makeZip([{ name: 'secret', flags: 0x841 }]),
    says: /encrypt/,
  },
  {
    what: 'zip by another method',
    make: () => makeZip([{ name: 'a', method: 12 }]),
    says: /method 12/,
    entry: 'a',
  },
  {
    what: 'zip with a wrong checksum',
    make: () => makeZip([{ name: 'a', content: 'x', crc: 1 }]),
    says: /checksum/,
    entry: 'a',
  },
  {
    what: 'zip entry that is larger than it says',
    make: () => makeZip([{ name: 'a', content: 'x'.repeat(500), size: 5 }]),
    says: /larger than it says/,
    entry: 'a',
  },
  {
    what: 'zip entry that is smaller than it says',
    make: () => makeZip([{ name: 'a', content: 'x', size: 500 }]),
    says: /another size|checksum/,
    entry: 'a',
  },
  {
    what: 'zip that is cut off',
    make: () => makeZip([{ name: 'a', content: 'x'.repeat(500) }]).slice(0, -30),
    says: /cannot be read/,
  },
  {
    what: 'zip bomb of one file',
    make: () => makeZip([{ name: 'bomb', content: zeros(15_000_000) }]),
    says: /over \d+ bytes/,
    entry: 'bomb',
  },
  {
    what: 'zip with a file that is too large',
    make: () => makeZip([{ name: 'big', content: zeros(16_000_001) }]),
    says: /are allowed/,
    entry: 'big',
  },
  {
    what: 'zip of many bombs',
    make: () => makeZip(Array.from({ length: 20 }, (_, i) => ({ name: `b${i}`, content: zeros(3_000_000) }))),
    says: /over \d+ bytes/,
    entry: 'b4',
  },
  {
    what: 'zip with too many entries',
    make: () => makeZip(Array.from({ length: 10_001 }, (_, i) => ({ name: `d${i}/`, store: true }))),
    says: /10000 allowed/,
    entry: 'd10000/',
  },
  {
    what: 'zip64 entry of a size that no number holds',
    make: () => makeZip([{ name: 'a', zip64: true, size: Number.MAX_SAFE_INTEGER }]),
    says: /are allowed|cannot be read/,
  },
];
