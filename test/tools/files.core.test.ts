import { beforeEach, describe, expect, it } from 'vitest';
import { fileTools } from '../../durable/tools/files/index.ts';
import type { Workspace } from '../../durable/workspace/index.ts';
import { bytesOf, fill, openWorkspace, textOf } from '../workspace/local.ts';
import { type Answer, type Call, callOver } from './files-context.ts';

let workspace: Workspace;
let call: Call;
beforeEach(() => {
  workspace = openWorkspace();
  call = callOver(workspace);
});

const content = (path: string): string => textOf(workspace.read(path).bytes);
const bodyOf = ({ text }: Answer): string => text.slice(text.indexOf('\n') + 1);

describe('the file tools', () => {
  it('say for each whether it may run beside others and again', () => {
    const flags = fileTools.tools?.map(({ name, parallelSafe = false, idempotent = false }) => ({
      name,
      parallelSafe,
      idempotent,
    }));
    expect(flags).toEqual([
      { name: 'read', parallelSafe: true, idempotent: true },
      { name: 'write', parallelSafe: false, idempotent: true },
      { name: 'edit', parallelSafe: false, idempotent: true },
      { name: 'list', parallelSafe: true, idempotent: true },
      { name: 'glob', parallelSafe: true, idempotent: true },
      { name: 'grep', parallelSafe: true, idempotent: true },
    ]);
  });

  it.each([
    ['leads out, and stays inside', '../../../ses_other/x', 'file_not_found'],
    ['is absolute', '/etc/passwd', 'file_not_found'],
    ['has a NUL', 'a\0b', 'path_invalid'],
    ['has 5,000 characters', 'a/'.repeat(2_500), 'path_invalid'],
    ['is empty', '', 'path_invalid'],
    ['is ill-formed', 'a\ud800', 'path_invalid'],
    ['is a directory', '.', 'is_a_directory'],
  ])('answer a path that %s with an error', async (_, path, code) => {
    expect((await call('read', { path })).error).toBe(code);
    expect((await call('edit', { path, old: 'a', new: 'b' })).error).toBe(code);
    const found = await call('grep', { pattern: 'x', path });
    expect(found.error).toBe(code === 'is_a_directory' ? null : code);
    if (code === 'path_invalid') {
      for (const tool of ['write', 'list', 'glob'])
        expect((await call(tool, { path, content: 'x', pattern: '*' })).error).not.toBeNull();
    }
    expect(workspace.totals().files).toBe(0);
  });

  it.each([
    ['read', { path: 1 }],
    ['read', { path: 'a', offset: 0 }],
    ['read', { path: 'a', limit: 1.5 }],
    ['read', { path: 'a', more: true }],
    ['write', { path: 'a' }],
    ['write', { path: 'a', content: 'half \ud83d' }],
    ['edit', { path: 'a', old: '', new: 'x' }],
    ['edit', { path: 'a', old: 'x', new: '\udc00' }],
    ['list', { limit: 0 }],
    ['glob', {}],
    ['grep', { pattern: 'a', context: 99 }],
    ['grep', { pattern: '(' }],
    ['glob', { pattern: '{a,b}'.repeat(20) }],
  ])('refuse arguments that are not valid: %s %j', async (tool, input) => {
    fill(workspace, { a: 'x' });
    expect((await call(tool, input)).error).toBe('invalid_arguments');
  });
});

describe('read', () => {
  it('shows numbered lines under what the file is', async () => {
    fill(workspace, { 'a.txt': '\ufeffone\r\ntwo\r\n', b: 'x', c: '' });
    expect((await call('read', { path: 'a.txt' })).text).toBe(
      '/workspace/a.txt: 2 lines, CRLF line ends, byte order mark\n1\tone\n2\ttwo',
    );
    expect((await call('read', { path: 'b' })).text).toBe(
      '/workspace/b: 1 line, no line end at the end\n1\tx',
    );
    expect((await call('read', { path: 'c' })).text).toBe('/workspace/c: empty');
  });

  it('goes on part by part, without a gap', async () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i + 1} ${'ü'.repeat(i % 20)}`);
    fill(workspace, { a: lines.join('\n') });
    const seen: string[] = [];
    for (let offset = 1; offset > 0; ) {
      const answer = await call('read', { path: 'a', offset });
      expect(Buffer.byteLength(answer.text)).toBeLessThan(26_000);
      const shown = bodyOf(answer).split('\n');
      const next = /go on with offset (\d+)\]$/.exec(answer.text)?.[1];
      seen.push(...(next === undefined ? shown : shown.slice(0, -1)));
      offset = Number(next ?? 0);
    }
    expect(seen).toEqual(lines.map((line, i) => `${i + 1}\t${line}`));
    expect(bodyOf(await call('read', { path: 'a', offset: 3, limit: 1 }))).toBe(
      `3\t${lines[2]}\n[4997 more lines: go on with offset 4]`,
    );
    expect((await call('read', { path: 'a', offset: 5_001 })).error).toBe('invalid_arguments');
  });

  it('marks what it leaves out of a long line', async () => {
    fill(workspace, { a: `${'🙂'.repeat(3_000)}\nnext` });
    const { text } = await call('read', { path: 'a' });
    expect(text).toContain('[… 4000 more characters in this line]\n2\tnext');
    expect(text.isWellFormed()).toBe(true);
  });

  it.each([
    [[0x89, 0x50, 0x4e, 0x47, 0], 'a PNG image, 5 bytes'],
    [[0x61, 0xff, 0x62], 'another encoding'],
    [[0x61, 0, 0x62], 'binary data'],
    [[0xff, 0xfe, 0x61, 0], 'UTF-16 text'],
    [[0x25, 0x50, 0x44, 0x46, 0xff], 'a PDF document'],
  ])('says what bytes that are no text are', async (bytes, kind) => {
    workspace.write('a', new Uint8Array(bytes));
    const answer = await call('read', { path: 'a' });
    expect(answer.error).toBeNull();
    expect(answer.text).toContain(kind);
  });

  it('names what may have been meant', async () => {
    fill(workspace, { 'src/App.tsx': '', 'lib/util.ts': '' });
    expect((await call('read', { path: 'src/app.ts' })).text).toContain(
      'Did you mean /workspace/src/App.tsx?',
    );
    expect((await call('read', { path: 'util.ts' })).text).toContain('Did you mean /workspace/lib/util.ts?');
    expect((await call('read', { path: 'none' })).text).not.toContain('Did you mean');
    expect((await call('read', { path: 'src' })).text).toContain('Use list');
  });
});

describe('write', () => {
  it('makes a file with its directories, byte for byte', async () => {
    const text = '\ufeffa\r\nb\n$& 🙂';
    expect((await call('write', { path: 'x/y.txt', content: text })).text).toContain(
      'Made /workspace/x/y.txt: 3 lines',
    );
    expect(Buffer.from(workspace.read('x/y.txt').bytes).toString()).toBe(text);
    expect((await call('write', { path: 'x/y.txt', content: '' })).error).toBeNull();
  });

  it('replaces only what the model knows as it is, or what it is told to', async () => {
    fill(workspace, { a: 'theirs' });
    expect((await call('write', { path: 'a', content: 'mine' })).error).toBe('file_not_read');
    await call('read', { path: 'a' });
    expect((await call('write', { path: 'a', content: 'mine' })).error).toBeNull();
    expect((await call('write', { path: 'a', content: 'mine again' })).error).toBeNull();
    workspace.write('a', bytesOf('theirs again'));
    expect((await call('write', { path: 'a', content: 'mine' })).error).toBe('file_changed');
    expect(content('a')).toBe('theirs again');
    expect((await call('write', { path: 'a', content: 'mine', overwrite: true })).error).toBeNull();
    expect(content('a')).toBe('mine');
  });

  it('does nothing new when the same call runs again after a crash', async () => {
    const input = { path: 'a', content: 'text' };
    await call('write', input, { call: 'c' });
    const before = workspace.stat('a');
    expect((await call('write', input, { call: 'c' })).error).toBeNull();
    expect(workspace.stat('a')).toEqual(before);
  });
});

describe('edit', () => {
  const open = async (text: string): Promise<void> => {
    fill(workspace, { a: text });
    await call('read', { path: 'a' });
  };
  const edit = (old: string, replacement: string, more: object = {}): Promise<Answer> =>
    call('edit', { path: 'a', old, new: replacement, ...more });

  it.each([
    ['a line', 'one\ntwo\nthree', 'two', '2', 'one\n2\nthree'],
    ['over lines', 'one\ntwo\nthree', 'one\ntwo\n', '', 'three'],
    ['with patterns of replacement', 'x', 'x', '$& $1 $$ $`', '$& $1 $$ $`'],
    ['with an expression as text', 'a.*b axxb', 'a.*b', 'c', 'c axxb'],
    ['in CRLF lines', 'a\r\nb\r\nc\r\n', 'a\nb', '1\n2\n3', '1\r\n2\r\n3\r\nc\r\n'],
    ['of one line into two in CRLF lines', 'a\r\nb\r\n', 'b', '1\n2', 'a\r\n1\r\n2\r\n'],
    ['with CRLF in plain lines', 'a\nb\n', 'a\r\nb', 'x\r\ny', 'x\ny\n'],
    ['in mixed lines', 'a\r\nb\nc\nd\r\n', 'b\nc', 'x', 'a\r\nx\nd\r\n'],
    ['in the CRLF part of mixed lines', 'a\r\nb\r\nc\nd\n', 'a\nb', 'x\ny', 'x\r\ny\r\nc\nd\n'],
    ['behind a byte order mark', '\ufeffone\n', 'one', '1', '\ufeff1\n'],
    ['of half of what looks like one letter', 'e\u0301', '\u0301', '', 'e'],
  ])('replaces a piece %s and keeps every other byte', async (_, before, old, replacement, after) => {
    await open(before);
    expect(await edit(old, replacement)).toMatchObject({ error: null });
    expect(Buffer.from(workspace.read('a').bytes).toString()).toBe(after);
  });

  it('replaces all where it is told to', async () => {
    await open('x\nyx\naaa');
    expect((await edit('x', 'xx', { all: true })).text).toContain('2 pieces of /workspace/a, at lines 1, 2');
    expect((await edit('aa', 'b', { all: true })).error).toBeNull();
    expect(content('a')).toBe('xx\nyxx\nba');
  });

  it('refuses what is there more than once, with the lines', async () => {
    await open(`${'x\n'.repeat(30)}aaa`);
    const answer = await edit('x', 'y');
    expect(answer).toMatchObject({ error: 'edit_ambiguous' });
    expect(answer.text).toContain('30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more');
    expect((await edit('aa', 'b')).error).toBe('edit_ambiguous');
    expect(content('a')).toBe(`${'x\n'.repeat(30)}aaa`);
  });

  it.each([
    [
      'white space differs',
      'if (a) {\n\t\tb();\n}',
      'if (a) {\n    b();\n}',
      /Only white space differs, at line 1\..*\n\t\tb\(\);/s,
    ],
    ['case differs', 'const Value = 1;\n', 'const value', /Only case and white space differ, at line 1/],
    ['quotes differ', 'say “yes” – now\n', 'say "yes" - now', /Only quotes.*at line 1.*“yes”/s],
    [
      'the first line is there',
      'f() {\n  one\n}\n\nf() {\n  two\n}',
      'f() {\n  three\n}',
      /first line is there.*lines 1, 5.*\n {2}one/s,
    ],
    ['nothing is near', 'a\nb\n', 'quite another thing', /Nothing near/],
    ['only blanks were given', 'a\nb\n', '  ', /Nothing near/],
  ])('says what is near where it finds nothing: %s', async (_, text, old, hint) => {
    await open(text);
    const answer = await edit(old, 'x');
    expect(answer.error).toBe('edit_not_found');
    expect(answer.text).toMatch(hint);
    expect(content('a')).toBe(text);
  });

  it('refuses a file that was never read, that changed since, that is no text, and nothing to change', async () => {
    fill(workspace, { a: 'text' });
    expect((await edit('text', 'x')).error).toBe('file_not_read');
    await call('read', { path: 'a' });
    workspace.write('a', bytesOf('text of another'));
    expect((await edit('text', 'x')).error).toBe('file_changed');
    expect(content('a')).toBe('text of another');
    await call('read', { path: 'a' });
    expect((await edit('text', 'text')).error).toBe('invalid_arguments');
    expect((await edit('text', 'x')).error).toBeNull();
    expect((await edit('another', 'y')).error).toBeNull();
    workspace.write('a', new Uint8Array([0x61, 0xff]));
    await call('read', { path: 'a' });
    expect((await edit('a', 'b')).error).toBe('not_text');
    expect([...workspace.read('a').bytes]).toEqual([0x61, 0xff]);
  });

  it('refuses a file of the same name and content that is another one by now', async () => {
    await open('text');
    workspace.remove('a');
    workspace.write('a', bytesOf('text'));
    expect((await edit('text', 'x')).error).toBe('file_not_read');
  });

  it('happens once when the same call runs again after a crash, and is its own in another turn', async () => {
    await open('a');
    await edit('a', 'aa', {});
    expect(content('a')).toBe('aa');
    await call('edit', { path: 'a', old: 'aa', new: 'aaa' }, { call: 'same' });
    expect((await call('edit', { path: 'a', old: 'aa', new: 'aaa' }, { call: 'same' })).error).toBeNull();
    expect(content('a')).toBe('aaa');
    const other = await call('edit', { path: 'a', old: 'aaa', new: 'b' }, { call: 'same', turn: 2 });
    expect(other.error).toBeNull();
    expect(content('a')).toBe('b');
  });

  it('that would make a file too large is refused before it is made', async () => {
    await open('x'.repeat(1_000_000));
    expect((await edit('x', 'y'.repeat(1_000), { all: true })).error).toBe('file_too_large');
  });
});

describe('list, glob and grep', () => {
  beforeEach(() => {
    fill(workspace, {
      'src/a.ts': 'import b from "./b";\n',
      'src/b.ts': 'export default 1; // TODO\n',
      'README.md': '# TODO list\n',
      '.env': 'TODO=1',
    });
  });

  it('list what is there', async () => {
    expect((await call('list', {})).text).toBe(
      '/workspace/ (paths under it, sizes in bytes)\n.env  6\nREADME.md  12\nsrc/',
    );
    expect((await call('list', { path: 'src', recursive: true })).text).toContain('a.ts  21\nb.ts  26');
    workspace.makeDirectory('empty');
    expect((await call('list', { path: 'empty' })).text).toBe('/workspace/empty is empty.');
    expect((await call('list', { path: 'none' })).error).toBe('file_not_found');
    expect((await call('list', { path: 'README.md' })).error).toBe('not_a_directory');
  });

  it('go on where an answer says', async () => {
    for (const [tool, input] of [
      ['list', { recursive: true }],
      ['glob', { pattern: '**/*' }],
    ] as const) {
      const seen: string[] = [];
      for (let after: string | undefined, n = 0; n < 9; n++) {
        const { text } = await call(tool, { ...input, limit: 1, ...(after !== undefined && { after }) });
        const lines = text.split('\n');
        seen.push(lines.at(tool === 'list' ? 1 : 0) ?? '');
        const next = /go on with after "([^"]+)"\]$/.exec(text)?.[1];
        if (next === undefined) break;
        after = next;
      }
      expect(seen).toEqual(
        tool === 'list'
          ? ['.env  6', 'README.md  12', 'src/', 'src/a.ts  21', 'src/b.ts  26']
          : ['/workspace/README.md', '/workspace/src/a.ts', '/workspace/src/b.ts'],
      );
    }
  });

  it('never give an answer that would have to be moved into a file', async () => {
    for (let n = 0; n < 300; n++)
      workspace.write(`${'d'.repeat(200)}/${n}${'f'.repeat(200)}`, bytesOf('needle\n'.repeat(3)));
    for (const [tool, input] of [
      ['list', { recursive: true, limit: 1_000 }],
      ['glob', { pattern: '**', limit: 1_000 }],
      ['grep', { pattern: 'needle', limit: 500, context: 10 }],
    ] as const) {
      const { text } = await call(tool, input);
      expect(Buffer.byteLength(text)).toBeLessThan(26_000);
      expect(text).toMatch(/go on with after|narrow the search/);
    }
  });

  it('find files by name', async () => {
    expect((await call('glob', { pattern: '**/*.ts' })).text).toBe(
      '/workspace/src/a.ts\n/workspace/src/b.ts',
    );
    expect((await call('glob', { pattern: '*.ts', path: 'src' })).text).toBe(
      '/workspace/src/a.ts\n/workspace/src/b.ts',
    );
    expect((await call('glob', { pattern: '*.py' })).text).toBe('No file under /workspace matches *.py.');
    expect((await call('glob', { pattern: '*', path: 'none' })).error).toBe('file_not_found');
  });

  it('find lines by what is in them', async () => {
    expect((await call('grep', { pattern: 'TODO' })).text).toBe(
      [
        '2 matching lines in 2 files:',
        '/workspace/README.md',
        '1: # TODO list',
        '/workspace/src/b.ts',
        '1: export default 1; // TODO',
        '[1 file with a dot name passed over]',
      ].join('\n'),
    );
    expect((await call('grep', { pattern: '\\bimport\\b.*b', glob: 'src/*' })).text).toContain(
      '1: import b from',
    );
    expect((await call('grep', { pattern: 'nowhere' })).text).toContain('No match in 3 files.');
    expect((await call('grep', { pattern: 'TODO', limit: 1 })).text).toContain('stopped at the limit of 1');
    expect((await call('grep', { pattern: 'x', path: 'none' })).error).toBe('file_not_found');
  });

  it('show a long line around its match', async () => {
    fill(workspace, { long: `${'🙂'.repeat(5_000)}needle${'x'.repeat(5_000)}` });
    const { text } = await call('grep', { pattern: 'needle' });
    expect(text).toContain('needle');
    expect(text.length).toBeLessThan(600);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toMatch(/\[\d+ characters …\].*\[… \d+ characters\]/);
  });

  it('stop where the call is stopped', async () => {
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    await expect(call('grep', { pattern: 'x' }, { signal: stop.signal })).rejects.toThrow('stopped');
  });
});
