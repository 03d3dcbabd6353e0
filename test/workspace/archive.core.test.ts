import { packTar } from 'modern-tar';
import { describe, expect, it } from 'vitest';
import { createReceipts } from '../../durable/inbox/receipts.ts';
import { unpackArchive } from '../../durable/workspace/archive.ts';
import { importFiles } from '../../durable/workspace/requests.ts';
import { BAD_ARCHIVES } from './archive-cases.ts';
import { gzip, makePax, makeTar, makeZip } from './archives.ts';
import { bytesOf, catchRejection, fill, type Local, openLocal, textOf } from './local.ts';

const ENTRIES = [
  { name: './', type: '5' },
  { name: 'src/', type: '5' },
  { name: './src/a.ts', content: 'a' },
  { name: 'src/ü 🙂.txt', content: 'ü' },
  { name: 'empty' },
  { name: 'bin', content: new Uint8Array([0, 255, 10]) },
];
const ZIP_ENTRIES = ENTRIES.slice(1).map(({ name, content = '' }) => ({
  name: name.replace('./', ''),
  content,
}));

async function unpack(bytes: Uint8Array): Promise<Record<string, string | null>> {
  const files = await unpackArchive(bytes);
  return Object.fromEntries(
    files.map(({ path, bytes: content }) => [path, content && Buffer.from(content).toString('hex')]),
  );
}

const hex = (text: string): string => Buffer.from(text).toString('hex');
const EXPECTED = { src: null, 'src/a.ts': hex('a'), 'src/ü 🙂.txt': hex('ü'), empty: '', bin: '00ff0a' };

function openImport(local: Local = openLocal()) {
  const { workspace, sql } = local;
  sql.run('CREATE TABLE receipts (key TEXT PRIMARY KEY, digest TEXT, receipt TEXT, at INTEGER)');
  const ports = {
    workspace,
    receipts: createReceipts(sql, () => 0),
    commit: <T>(write: () => T) => sql.atomically(write),
  };
  return {
    ...local,
    bringIn: (bytes: Uint8Array, directory = '.', key: string | null = null) =>
      importFiles(ports, { bytes, directory, idempotency: key === null ? null : { key, digest: 'd' } }),
  };
}

describe('an archive', () => {
  it.each([
    ['tar', makeTar(ENTRIES)],
    ['tar.gz', gzip(makeTar(ENTRIES))],
    ['zip', makeZip(ZIP_ENTRIES)],
    ['zip that is stored', makeZip(ZIP_ENTRIES.map((entry) => ({ ...entry, store: true })))],
    ['zip with zip64 sizes', makeZip(ZIP_ENTRIES.map((entry) => ({ ...entry, zip64: true })))],
    ['zip with a comment', makeZip(ZIP_ENTRIES, { comment: 'made by hand' })],
  ])('of the kind %s is unpacked as it is', async (_, bytes) => {
    expect(await unpack(bytes)).toEqual(EXPECTED);
  });

  it('may have long names, in both ways that tar knows', async () => {
    const long = `${'d'.repeat(90)}/${'e'.repeat(90)}/${'f'.repeat(90)}`;
    const { content, name, type } = { content: `${long}\0`, name: '././@LongLink', type: 'L' };
    expect(await unpack(makeTar([...makePax(long, 'x')]))).toEqual({ [long]: hex('x') });
    expect(
      await unpack(
        makeTar([
          { name, type, content },
          { name: 'cut', content: 'x' },
        ]),
      ),
    ).toEqual({ [long]: hex('x') });
    const packed = await packTar([{ header: { name: long, size: 1 }, body: 'x' }]);
    expect(await unpack(packed)).toEqual({ [long]: hex('x') });
  });

  it('may be empty', async () => {
    expect(await unpack(makeTar([]))).toEqual({});
    expect(await unpack(makeZip([]))).toEqual({});
  });

  it.each(BAD_ARCHIVES)('is refused: $what', { timeout: 20_000 }, async ({ make, says, entry }) => {
    const { workspace, bringIn } = openImport();
    const bytes = make();
    const error = await catchRejection(bringIn(bytes));
    expect(error).toMatchObject({ code: 'archive_invalid', detail: expect.stringMatching(says) });
    if (entry !== undefined) expect(error).toMatchObject({ facts: { entry } });
    expect(error.detail.length).toBeLessThan(400);
    expect(workspace.totals()).toEqual({ files: 0, bytes: 0 });
    expect(workspace.list('/', { limit: 9, recursive: true }).files).toHaveLength(1);
  });
});

describe('an import', () => {
  it('writes all files under its directory and says what it did', async () => {
    const { workspace, bringIn } = openImport();
    fill(workspace, { 'lib/src/a.ts': 'old', 'lib/other': 'stays' });
    const report = await bringIn(makeTar(ENTRIES), 'lib');
    expect(report).toEqual({ directory: '/workspace/lib', files: 4, bytes: 6, replaced: 1 });
    expect(textOf(workspace.read('lib/src/a.ts').bytes)).toBe('a');
    expect(textOf(workspace.read('lib/other').bytes)).toBe('stays');
    expect((await bringIn(makeZip(ZIP_ENTRIES), '/')).directory).toBe('/');
    expect(textOf(workspace.read('/src/a.ts').bytes)).toBe('a');
  });

  it('writes nothing where one file cannot be written', async () => {
    const { workspace, bringIn } = openImport();
    fill(workspace, { 'src/a.ts/x': 'a directory is in the way' });
    const before = workspace.list('/', { limit: 99, recursive: true });
    const error = await catchRejection(bringIn(makeTar([{ name: 'first', content: '1' }, ...ENTRIES])));
    expect(error).toMatchObject({ code: 'is_a_directory', facts: { entry: 'src/a.ts' } });
    expect(workspace.list('/', { limit: 99, recursive: true })).toEqual(before);
    expect(workspace.totals()).toEqual({ files: 1, bytes: 25 });
  });

  it('refuses a directory that is no path, or a file', async () => {
    const { workspace, bringIn } = openImport();
    fill(workspace, { f: '' });
    expect((await catchRejection(bringIn(makeTar(ENTRIES), 'a\0'))).code).toBe('path_invalid');
    expect((await catchRejection(bringIn(makeTar(ENTRIES), 'f'))).code).toBe('not_a_directory');
  });

  it('happens once for one Idempotency-Key', async () => {
    const { workspace, bringIn } = openImport();
    const [first, second] = await Promise.all([
      bringIn(makeTar(ENTRIES), '.', 'k'),
      bringIn(makeTar(ENTRIES), '.', 'k'),
    ]);
    expect(second).toEqual(first);
    workspace.write('empty', bytesOf('changed since'));
    expect(await bringIn(makeTar(ENTRIES), '.', 'k')).toEqual(first);
    expect(textOf(workspace.read('empty').bytes)).toBe('changed since');
  });

  it('takes a repository of 5,000 files', { timeout: 30_000 }, async () => {
    const { workspace, bringIn } = openImport();
    const entries = Array.from({ length: 5_000 }, (_, i) => ({
      name: `repo/d${i % 50}/f${i}.ts`,
      content: `export const n${i} = ${i};\n// ${Math.sin(i)}\n`.repeat(5),
    }));
    expect((await bringIn(gzip(makeTar(entries)))).files).toBe(5_000);
    expect((await bringIn(makeZip(entries), 'zip')).files).toBe(5_000);
    expect(workspace.totals().files).toBe(10_000);
  });
});
