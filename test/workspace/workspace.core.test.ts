import { describe, expect, it } from 'vitest';
import { MAX_ENTRIES, MAX_FILE_BYTES, MAX_WORKSPACE_BYTES } from '../../durable/workspace/tables.ts';
import { bytesOf, catchError, fill, openLocal, openWorkspace, textOf } from './local.ts';

const paths = (files: { path: string }[]): string[] => files.map(({ path }) => path);

describe('a file', () => {
  it('is read as it was written, with its directories made', () => {
    const workspace = openWorkspace();
    const info = workspace.write('src/app.ts', bytesOf('one'));
    expect(info).toEqual({
      path: '/workspace/src/app.ts',
      kind: 'file',
      bytes: 3,
      version: 1,
      modified_at: 1_002,
    });
    expect(textOf(workspace.read('/workspace/src/app.ts').bytes)).toBe('one');
    expect(workspace.stat('src')?.kind).toBe('directory');
    expect(workspace.stat('src/none')).toBeNull();
  });

  it.each([0, 1, 999_999, 1_000_000, 1_000_001, 3_500_000])('keeps %i bytes of any value', (size) => {
    const workspace = openWorkspace();
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) % 256);
    workspace.write('data', bytes);
    expect(Buffer.compare(workspace.read('data').bytes, bytes)).toBe(0);
    expect(workspace.totals()).toEqual({ files: 1, bytes: size });
  });

  it('is kept from a view of a larger buffer as that view', () => {
    const workspace = openWorkspace();
    workspace.write('view', Buffer.from('a view of a pool').subarray(2, 6));
    expect(textOf(workspace.read('view').bytes)).toBe('view');
  });

  it('gets a greater version with each change, and never one that it had before', () => {
    const workspace = openWorkspace();
    expect(workspace.write('a', bytesOf('1')).version).toBe(1);
    expect(workspace.write('a', bytesOf('2')).version).toBe(2);
    workspace.remove('a');
    expect(workspace.write('a', bytesOf('3')).version).toBe(3);
  });

  it('stays as it is where equal content is written', () => {
    const workspace = openWorkspace();
    const first = workspace.write('a', bytesOf('same'));
    expect(workspace.write('a', bytesOf('same'))).toEqual(first);
  });

  it('is not written over another version than the expected one', () => {
    const workspace = openWorkspace();
    const { version } = workspace.write('a', bytesOf('1'), { ifVersion: 0 });
    workspace.write('a', bytesOf('2'), { ifVersion: version });
    expect(catchError(() => workspace.write('a', bytesOf('3'), { ifVersion: version })).code).toBe(
      'file_changed',
    );
    expect(catchError(() => workspace.write('a', bytesOf('3'), { ifVersion: 0 })).code).toBe('file_changed');
    workspace.remove('a');
    expect(catchError(() => workspace.write('a', bytesOf('3'), { ifVersion: 2 })).detail).toContain(
      'is gone',
    );
    expect(workspace.stat('a')).toBeNull();
  });

  it('leaves no part of what it was before', () => {
    const { workspace, sql } = openLocal();
    workspace.write('a', new Uint8Array(2_500_000));
    workspace.write('a', bytesOf('short'));
    expect(sql.all('SELECT id FROM file_parts')).toHaveLength(1);
    workspace.remove('a');
    expect(sql.all('SELECT id FROM file_parts')).toHaveLength(0);
    expect(workspace.totals()).toEqual({ files: 0, bytes: 0 });
  });

  it('is one of its own in another case', () => {
    const workspace = fill(openWorkspace(), { 'Read.me': 'a', 'read.me': 'b' });
    expect(textOf(workspace.read('Read.me').bytes)).toBe('a');
    expect(workspace.totals().files).toBe(2);
  });

  it.each([
    ['read of a directory', 'is_a_directory', () => fill(openWorkspace(), { 'd/a': '' }).read('d')],
    ['read of nothing', 'file_not_found', () => openWorkspace().read('d')],
    ['read of the root', 'is_a_directory', () => openWorkspace().read('/')],
    [
      'write over a directory',
      'is_a_directory',
      () => fill(openWorkspace(), { 'd/a': '' }).write('d', bytesOf('')),
    ],
    ['write over the working directory', 'is_a_directory', () => openWorkspace().write('.', bytesOf(''))],
    ['write over the root', 'is_a_directory', () => openWorkspace().write('/', bytesOf(''))],
    [
      'write below a file',
      'not_a_directory',
      () => fill(openWorkspace(), { f: '' }).write('f/a', bytesOf('')),
    ],
    [
      'write deep below a file',
      'not_a_directory',
      () => fill(openWorkspace(), { f: '' }).write('f/a/b', bytesOf('')),
    ],
    [
      'directory where a file is',
      'not_a_directory',
      () => fill(openWorkspace(), { f: '' }).makeDirectory('f'),
    ],
    ['list of a file', 'not_a_directory', () => fill(openWorkspace(), { f: '' }).list('f', { limit: 1 })],
    ['list of nothing', 'file_not_found', () => openWorkspace().list('f', { limit: 1 })],
    ['removal of nothing', 'file_not_found', () => openWorkspace().remove('f')],
    [
      'removal of a full directory',
      'directory_not_empty',
      () => fill(openWorkspace(), { 'd/a': '' }).remove('d'),
    ],
    [
      'removal of the working directory',
      'path_invalid',
      () => openWorkspace().remove('.', { recursive: true }),
    ],
    ['removal of the root', 'path_invalid', () => openWorkspace().remove('/', { recursive: true })],
    [
      'a file over the limit',
      'file_too_large',
      () => openWorkspace().write('a', new Uint8Array(MAX_FILE_BYTES + 1)),
    ],
    ['a NUL', 'path_invalid', () => openWorkspace().stat('a\0')],
  ])('refuses the %s', (_, code, run) => {
    expect(catchError(run).code).toBe(code);
  });
});

describe('a workspace', () => {
  it('takes no more bytes than it may have, and is as it was', () => {
    const { workspace, sql } = openLocal();
    sql.run('UPDATE file_totals SET bytes = ?', MAX_WORKSPACE_BYTES - 3);
    workspace.write('fits', bytesOf('abc'));
    expect(catchError(() => workspace.write('new/a', bytesOf('a'))).code).toBe('workspace_full');
    expect(workspace.stat('new')).toBeNull();
  });

  it('takes no more files and directories than it may have', () => {
    const { workspace, sql } = openLocal();
    sql.run('UPDATE file_totals SET files = ?', MAX_ENTRIES - 3);
    workspace.write('d/fits', bytesOf('')); // /workspace, d, and the file
    expect(catchError(() => workspace.makeDirectory('e')).code).toBe('workspace_full');
    expect(catchError(() => workspace.write('f', bytesOf('a'))).code).toBe('workspace_full');
    workspace.write('d/fits', bytesOf('as many as before'));
  });

  it('has its working directory, and what that stands in, from the start', () => {
    const workspace = openWorkspace('/home/app');
    expect(workspace.stat('.')?.path).toBe('/home/app');
    expect(openWorkspace('/home/app').list('/', { limit: 9, recursive: true }).files).toHaveLength(2);
    expect(openWorkspace('/home/app').list('.', { limit: 9 }).files).toEqual([]);
    expect(openWorkspace('/').list('.', { limit: 9 }).files).toEqual([]);
    expect(openWorkspace('relative/..//x').cwd).toBe('/x');
  });

  it('undoes a write with the block that it stands in', () => {
    const { workspace, sql } = openLocal();
    expect(() =>
      sql.atomically(() => {
        workspace.write('a', bytesOf('1'));
        throw new Error('undone');
      }),
    ).toThrow('undone');
    expect(workspace.stat('a')).toBeNull();
    expect(workspace.totals()).toEqual({ files: 0, bytes: 0 });
    expect(workspace.stat('.')?.kind).toBe('directory');
  });
});

describe('a list', () => {
  const workspace = fill(openWorkspace(), {
    'a.txt': '1',
    'a/b': '22',
    'a/c/d': '',
    'a-b': '',
    '/top': '',
    ä: '',
    '🙂': '',
    '\uffee': '',
  });

  it('has what is in a directory, in the order of code points, and nothing deeper', () => {
    const { files, next } = workspace.list('.', { limit: 100 });
    expect(paths(files)).toEqual(
      ['a', 'a-b', 'a.txt', 'ä', '\uffee', '🙂'].map((name) => `/workspace/${name}`),
    );
    expect(next).toBeNull();
    expect(paths(workspace.list('/', { limit: 100 }).files)).toEqual(['/top', '/workspace']);
  });

  it('goes on page by page without a gap or a double', () => {
    for (const recursive of [true, false]) {
      const whole = paths(workspace.list('/', { limit: 100, recursive }).files);
      for (const limit of [1, 2, 3]) {
        const seen: string[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const page = workspace.list('/', { limit, recursive, after });
          expect(page.files.length).toBeLessThanOrEqual(limit);
          seen.push(...paths(page.files));
          after = page.next;
        }
        expect(seen).toEqual(whole);
      }
    }
  });

  it('takes only what begins with a prefix', () => {
    const under = (prefix: string) =>
      paths(workspace.list('/', { limit: 100, recursive: true, prefix }).files);
    expect(under('/workspace/a/')).toEqual(['/workspace/a/b', '/workspace/a/c', '/workspace/a/c/d']);
    expect(under('/workspace/a.')).toEqual(['/workspace/a.txt']);
    expect(under('/workspace/a.txt')).toEqual(['/workspace/a.txt']);
    expect(under('/t')).toEqual(['/top']);
    expect(under('/none')).toEqual([]);
    expect(under('/')).toHaveLength(11);
  });

  it('stays within a directory whose name another one begins with', () => {
    const files = fill(openWorkspace(), { 'src/a': '', 'src2/b': '', 'src.c': '', 'src/.d': '' });
    expect(paths(files.list('src', { limit: 9, recursive: true }).files)).toEqual([
      '/workspace/src/.d',
      '/workspace/src/a',
    ]);
    expect(files.remove('src', { recursive: true })).toBe(2);
    expect(paths(files.list('.', { limit: 9 }).files)).toEqual(['/workspace/src.c', '/workspace/src2']);
  });
});

describe('a move', () => {
  it('takes a file along with its version, over another file', () => {
    const workspace = fill(openWorkspace(), { a: 'one', b: 'two' });
    const before = workspace.read('a').info;
    expect(workspace.move('a', 'deep/b').version).toBe(before.version);
    workspace.move('deep/b', 'b');
    expect(textOf(workspace.read('b').bytes)).toBe('one');
    expect(workspace.stat('a')).toBeNull();
    expect(workspace.totals()).toEqual({ files: 1, bytes: 3 });
  });

  it('takes a directory with all that is in it, whatever its characters', () => {
    const workspace = fill(openWorkspace(), { 'ä🙂/x/y': 'y', 'ä🙂/z': 'z', 'ä🙂b': 'other' });
    workspace.move('ä🙂', 'new/n');
    expect(paths(workspace.glob('**', '.', 9).files)).toEqual([
      '/workspace/new/n/x/y',
      '/workspace/new/n/z',
      '/workspace/ä🙂b',
    ]);
    expect(textOf(workspace.read('new/n/x/y').bytes)).toBe('y');
  });

  it.each([
    ['of nothing', 'file_not_found', (): unknown => openWorkspace().move('a', 'b')],
    [
      'of a directory into itself',
      'path_invalid',
      (): unknown => fill(openWorkspace(), { 'd/a': '' }).move('d', 'd/e'),
    ],
    ['of the working directory', 'path_invalid', (): unknown => openWorkspace().move('.', '/x')],
    [
      'of a file onto a directory',
      'is_a_directory',
      (): unknown => fill(openWorkspace(), { a: '', 'd/b': '' }).move('a', 'd'),
    ],
    [
      'of a directory onto a file',
      'not_a_directory',
      (): unknown => fill(openWorkspace(), { a: '', 'd/b': '' }).move('d', 'a'),
    ],
    [
      'of a directory onto a full one',
      'directory_not_empty',
      (): unknown => fill(openWorkspace(), { 'e/a': '', 'd/b': '' }).move('d', 'e'),
    ],
    [
      'that makes a path too long',
      'path_invalid',
      (): unknown => {
        const long = `${'x'.repeat(250)}/`.repeat(3);
        return fill(openWorkspace(), { [`d/${long}f`]: '' }).move('d', 'e'.repeat(250) + '/e'.repeat(10));
      },
    ],
  ])('%s is refused', (_, code, run) => {
    expect(catchError(run).code).toBe(code);
  });

  it('puts a directory in the place of an empty one', () => {
    const workspace = fill(openWorkspace(), { 'd/b': '1' });
    workspace.makeDirectory('e');
    workspace.move('d', 'e');
    expect(paths(workspace.list('.', { limit: 9, recursive: true }).files)).toEqual([
      '/workspace/e',
      '/workspace/e/b',
    ]);
  });
});

describe('what the model knows of a file', () => {
  it('is the version that it last read or wrote, and the call that wrote the present one', () => {
    const workspace = openWorkspace();
    const first = workspace.write('a', bytesOf('1'));
    expect(workspace.knowledge('a')).toEqual({ version: 0, call: null });
    workspace.noteRead('a', first.version);
    expect(workspace.knowledge('a')).toEqual({ version: 1, call: null });
    workspace.write('a', bytesOf('2'), { call: 'c1' });
    expect(workspace.knowledge('a')).toEqual({ version: 2, call: 'c1' });
    workspace.write('a', bytesOf('3'));
    expect(workspace.knowledge('a')).toEqual({ version: 2, call: null });
    workspace.move('a', 'b');
    expect(workspace.knowledge('b').version).toBe(2);
    workspace.noteRead('gone', 1);
  });
});

describe('a scan', () => {
  it('gives every file once, a batch at a time', () => {
    const workspace = openWorkspace();
    for (let n = 0; n < 30; n++) workspace.write(`d${n % 3}/f${n}`, bytesOf('x'.repeat(n * 10)));
    workspace.write('big', new Uint8Array(1_500_000).fill(7));
    const seen: string[] = [];
    let batches = 0;
    for (let after: string | null = ''; after !== null; batches++) {
      const batch = workspace.scan('/', 500, after);
      for (const { info, bytes } of batch.files) {
        expect(bytes.byteLength).toBe(info.bytes);
        seen.push(info.path);
      }
      after = batch.next;
    }
    expect(seen).toEqual(paths(workspace.glob('**', '/', 100).files));
    expect(seen).toHaveLength(31);
    expect(batches).toBeGreaterThan(5);
    expect(paths(workspace.scan('d1/f1', 1).files.map(({ info }) => info))).toEqual(['/workspace/d1/f1']);
  });
});
