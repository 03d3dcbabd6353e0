import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../durable/workspace/matcher.ts';
import { type Found, type Search, searchFiles } from '../../durable/workspace/search.ts';
import type { Workspace } from '../../durable/workspace/types.ts';
import { bytesOf, catchRejection, fill, openWorkspace } from './local.ts';

interface Options extends Partial<Omit<Search, 'matcher'>> {
  literal?: boolean;
  ignoreCase?: boolean;
  now?: () => number;
  pause?: () => Promise<void>;
}

async function search(workspace: Workspace, text: string, options: Options = {}): Promise<Found> {
  const {
    literal = false,
    ignoreCase = false,
    now = () => 0,
    pause = () => Promise.resolve(),
    ...rest
  } = options;
  const matcher = await compilePattern({ text, literal, ignoreCase });
  const defaults = { root: '.', limit: 1_000, context: 0, deadline: 1 };
  return searchFiles(workspace, { ...defaults, ...rest, matcher }, { now, pause });
}

const linesOf = (found: Found): string[] =>
  found.files.flatMap(({ path, lines }) =>
    lines.map(
      ({ line, text, match }) => `${path.replace('/workspace/', '')}${match ? ':' : '-'}${line}:${text}`,
    ),
  );

describe('a search', () => {
  const workspace = fill(openWorkspace(), {
    'a.ts': 'import x\n\nexport const a = 1;\nconst b = a;',
    'src/b.ts': 'export const B = 2;\r\nexport function f() {}\r\n',
    'src/c.md': '\ufeff# Title\nexport',
    '.git/x': 'export',
    'src/.env': 'export A=1',
    '/outside': 'export',
  });

  it('finds lines by an expression, in the order of paths, whatever their ends', async () => {
    const found = await search(workspace, '^export \\w+ (\\w+)');
    expect(linesOf(found)).toEqual([
      'a.ts:3:export const a = 1;',
      'src/b.ts:1:export const B = 2;',
      'src/b.ts:2:export function f() {}',
    ]);
    expect(found).toMatchObject({ matches: 3, searched: 3, hidden: 2, binary: 0, stopped: null });
  });

  it.each([
    ['the end of a line', ';$', 3],
    ['the end of a line with CRLF', '\\{\\}$', 1],
    ['the start of a text', '\\A.', 7],
    ['the end of a text', 't\\z', 1],
    ['a start after a byte order mark', '^# Title', 1],
    ['a flag that turns lines off', '(?-m)^export', 4],
    ['an empty line', '^$', 1],
    ['a class that line ends are in', 'x[^q]*c', 3],
    ['no case', '(?i)EXPORT', 4],
  ])('understands %s', async (_, pattern, matches) => {
    expect((await search(workspace, pattern)).matches).toBe(matches);
  });

  it('finds a text as it is', async () => {
    const files = fill(openWorkspace(), { a: 'f(x)[1].*\nF(X)[1].*\nfx1', b: '$& \\d' });
    expect(linesOf(await search(files, 'f(x)[1].*', { literal: true }))).toEqual(['a:1:f(x)[1].*']);
    expect((await search(files, 'f(x)[1].*', { literal: true, ignoreCase: true })).matches).toBe(2);
    expect((await search(files, '$& \\d', { literal: true, ignoreCase: true })).matches).toBe(1);
    expect((await search(files, 'FX1', { ignoreCase: true })).matches).toBe(1);
  });

  it('looks where it is told', async () => {
    expect(linesOf(await search(workspace, 'export', { root: 'src' }))).toHaveLength(3);
    expect(linesOf(await search(workspace, 'export', { root: 'src/c.md' }))).toEqual(['src/c.md:2:export']);
    expect(linesOf(await search(workspace, 'export', { glob: '**/*.md' }))).toEqual(['src/c.md:2:export']);
    expect(linesOf(await search(workspace, 'export', { glob: '.git/*' }))).toEqual(['.git/x:1:export']);
    expect(linesOf(await search(workspace, 'export', { root: '.git' }))).toEqual(['.git/x:1:export']);
    expect((await search(workspace, 'export', { root: '/' })).searched).toBe(4);
  });

  it('shows the lines around a match once', async () => {
    const files = fill(openWorkspace(), { a: '1\n2\nx\n4\nx\n6\n7\n8\n' });
    expect(linesOf(await search(files, 'x', { context: 1 }))).toEqual([
      'a-2:2',
      'a:3:x',
      'a-4:4',
      'a:5:x',
      'a-6:6',
    ]);
  });

  it('passes over binary files and says how many', async () => {
    const files = fill(openWorkspace(), { text: 'needle' });
    files.write('bin', bytesOf('needle\0'));
    files.write('latin', new Uint8Array([0xe4, 10, ...bytesOf('needle')]));
    const found = await search(files, 'needle');
    expect(linesOf(found)).toEqual(['latin:2:needle', 'text:1:needle']);
    expect(found.binary).toBe(1);
  });

  it('stops at the limit and says so only where there is more', async () => {
    const files = fill(openWorkspace(), { a: 'x\nx\n', b: 'x' });
    expect(await search(files, 'x', { limit: 2 })).toMatchObject({ matches: 2, stopped: 'limit' });
    expect(await search(files, 'x', { limit: 3 })).toMatchObject({ matches: 3, stopped: null });
  });

  it('numbers lines rightly over pieces of a large file', async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) =>
      i % 9_999 === 5 ? `needle ${i}` : `line ${i} ${'é'.repeat(i % 13)}`,
    );
    const files = fill(openWorkspace(), { a: lines.join('\n') });
    const found = await search(files, 'needle \\d+');
    expect(linesOf(found)).toEqual(
      lines.flatMap((line, i) => (line.startsWith('needle') ? [`a:${i + 1}:${line}`] : [])),
    );
    expect((await search(files, `${lines.at(-1)}$`)).files[0]?.lines.at(-1)?.line).toBe(30_000);
  });

  it('finds a very long line once, and the line after it under its number', async () => {
    const files = fill(openWorkspace(), { a: `first\n${'needle '.repeat(40_000)}\nneedle` });
    expect((await search(files, 'needl.')).files[0]?.lines.map(({ line }) => line)).toEqual([2, 3]);
  });
});

describe('a pattern', () => {
  it.each([
    ['without an end', '(a', 'RE2 syntax'],
    ['with look-ahead', 'a(?=b)', 'Look-around'],
    ['with look-behind', '(?<!a)b', 'Look-around'],
    ['with a back-reference', '(a)\\1', 'back-references'],
    ['with a count over 1,000', 'a{1001}', 'RE2 syntax'],
    ['that is too large', '(?:abcdefghij){500}', 'too large'],
    ['with counts that multiply', '((a{100}){100}){100}', ''],
    ['of nothing', '', '1 to 1000'],
    ['of over 1,000 characters', 'a'.repeat(1_001), '1 to 1000'],
    ['over two lines', 'a\nb', 'line by line'],
  ])('%s is refused with the reason', async (_, text, reason) => {
    const error = await catchRejection(compilePattern({ text, literal: false, ignoreCase: false }));
    expect(error.code).toBe('invalid_arguments');
    expect(error.detail).toContain(reason);
  });

  it.each(['(a+)+$', '(a|aa)+$', '(.*)*x', '(a|a)*b', '^(([a-z])+.)+[A-Z]([a-z])+$', 'a*a*a*a*a*a*a*a*a*b'])(
    'that keeps a backtracking engine busy for ever does not here: %s',
    async (text) => {
      const files = fill(openWorkspace(), { a: `${'a'.repeat(50_000)}!` });
      const begun = performance.now();
      await search(files, text);
      expect(performance.now() - begun).toBeLessThan(3_000);
    },
  );

  it('that takes too long ends with what was found, and lets others run meanwhile', {
    timeout: 20_000,
  }, async () => {
    const files = openWorkspace();
    for (let n = 0; n < 20; n++)
      files.write(`f${String(n).padStart(2, '0')}`, bytesOf(`x1\n${'ab '.repeat(20_000)}`));
    let time = 0;
    let pauses = 0;
    const pause = (): Promise<void> => {
      pauses++;
      time += 10;
      return Promise.resolve();
    };
    const found = await search(files, '(x1|(?:a.b){200}q)', { deadline: 25, now: () => time, pause });
    expect(found.stopped).toBe('time');
    expect(pauses).toBe(3);
    expect(found.searched).toBeLessThan(20);
    expect(found.matches).toBeGreaterThan(0);
  });

  it('stops where its call is stopped', async () => {
    const files = fill(openWorkspace(), { a: 'x' });
    await expect(search(files, 'x', { pause: () => Promise.reject(new Error('stopped')) })).rejects.toThrow(
      'stopped',
    );
  });
});
