import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { MAX_NAME_BYTES, MAX_PATH_BYTES, resolvePath } from '../../durable/workspace/paths.ts';
import { chooseSeed, createRandom } from '../support/random.ts';
import { catchError } from './local.ts';

const CWD = '/workspace/app';
const resolve = (path: string): string => resolvePath(CWD, path);

describe('a path', () => {
  it.each([
    ['a.txt', '/workspace/app/a.txt'],
    ['.', '/workspace/app'],
    ['./a/./b', '/workspace/app/a/b'],
    ['..', '/workspace'],
    ['../../../../..', '/'],
    ['/', '/'],
    ['//', '/'],
    ['/..', '/'],
    ['/../../etc/passwd', '/etc/passwd'],
    ['/a//b///c', '/a/b/c'],
    ['a/', '/workspace/app/a'],
    ['/a/b//', '/a/b'],
    ['a/../b', '/workspace/app/b'],
    ['/../ses_other/files', '/ses_other/files'],
    ['...', '/workspace/app/...'],
    ['..a', '/workspace/app/..a'],
    [' ', '/workspace/app/ '],
    ['A', '/workspace/app/A'],
    ['~', '/workspace/app/~'],
    ['~/a', '/workspace/app/~/a'],
    ['a\\b', '/workspace/app/a\\b'],
    ['..\\..\\a', '/workspace/app/..\\..\\a'],
    ['%2e%2e/a', '/workspace/app/%2e%2e/a'],
    ['C:/a', '/workspace/app/C:/a'],
    ['$HOME/*?[a]{b}', '/workspace/app/$HOME/*?[a]{b}'],
    ['ä/日本/🙂', '/workspace/app/ä/日本/🙂'],
    ['__proto__/constructor', '/workspace/app/__proto__/constructor'],
  ])('%j is %j', (path, resolved) => {
    expect(resolve(path)).toBe(resolved);
  });

  it('keeps both forms of a letter that Unicode can write in two ways', () => {
    expect(resolve('\u00e9')).not.toBe(resolve('e\u0301'));
  });

  it.each([
    ['nothing', ''],
    ['a NUL', 'a\0b'],
    ['a line end', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['an escape', '\u001b[2J'],
    ['a delete', 'a\u007f'],
    ['a control of the second block', 'a\u0085b'],
    ['a line separator', 'a\u2028b'],
    ['half a surrogate pair', 'a\ud800'],
    ['the other half', '\udc00a'],
    ['5,000 characters', 'a/'.repeat(2_500)],
    ['5,000 characters that resolve to two', `${'a/../'.repeat(999)}ab...`],
    ['a name of 256 bytes', 'a'.repeat(MAX_NAME_BYTES + 1)],
    ['a name of 86 characters of three bytes', '日'.repeat(86)],
    ['1,025 bytes', `${`/${'a'.repeat(204)}`.repeat(5).slice(0, MAX_PATH_BYTES)}bb`],
  ])('with %s is refused', (_, path) => {
    expect(catchError(() => resolve(path)).code).toBe('path_invalid');
  });

  it('may have 1,024 bytes, and names of 255', () => {
    const longest = `/${'a'.repeat(255)}`.repeat(4);
    expect(longest).toHaveLength(MAX_PATH_BYTES);
    expect(resolve(longest)).toBe(longest);
    expect(catchError(() => resolve(`${longest}/a`)).code).toBe('path_invalid');
  });

  it('shows what cannot be seen, and no more than a line of it, in its error', () => {
    const { detail } = catchError(() => resolve(`a\0${'b'.repeat(3_000)}`));
    expect(detail).toContain('\\u0000');
    expect(detail.length).toBeLessThan(300);
  });

  it('holds its rules for 100,000 paths made at random', { timeout: 30_000 }, () => {
    const seed = chooseSeed();
    const random = createRandom(seed);
    const pieces = [
      '..',
      '.',
      '/',
      '//',
      'a',
      'B',
      ' ',
      '~',
      '\\',
      '%2e',
      '🙂',
      'é',
      '...',
      '..a',
      '-',
      '*',
      '日'.repeat(50),
    ];
    const rare = ['\0', '\n', '\ud800', '\udfff', '\u0085', 'x'.repeat(300)];
    let refused = 0;
    for (let n = 0; n < 100_000; n++) {
      const length = 1 + random.below(random.below(50) === 0 ? 400 : 12);
      const path = Array.from({ length }, () => random.pick(random.below(40) === 0 ? rare : pieces)).join(
        random.pick(['', '/']),
      );
      const cwd = random.pick(['/', '/a', CWD]);
      const label = `seed ${seed}: ${JSON.stringify(path)}`;
      try {
        const resolved = resolvePath(cwd, path);
        const parts = resolved.split('/').slice(1);
        const isNormal =
          resolved === '/' || parts.every((part) => part !== '' && part !== '.' && part !== '..');
        if (!resolved.startsWith('/') || !isNormal) expect.fail(label);
        if (Buffer.byteLength(resolved) > MAX_PATH_BYTES || !resolved.isWellFormed()) expect.fail(label);
        if (resolvePath('/', resolved) !== resolved || resolvePath(cwd, resolved) !== resolved)
          expect.fail(label);
      } catch (error) {
        refused++;
        if (!(error instanceof PerchError) || error.data.code !== 'path_invalid') throw error;
      }
    }
    expect(refused).toBeGreaterThan(1_000);
    expect(refused).toBeLessThan(90_000);
  });
});
