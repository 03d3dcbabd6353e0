import { describe, expect, it } from 'vitest';
import { compileGlob } from '../../durable/workspace/glob.ts';
import { createRandom } from '../support/random.ts';
import { catchError } from './local.ts';

const matches = (pattern: string, path: string): boolean => compileGlob(pattern)(path);

describe('a glob', () => {
  it.each([
    ['a.ts', 'a.ts', true],
    ['a.ts', 'src/a.ts', false],
    ['*.ts', 'a.ts', true],
    ['*.ts', 'A.TS', false],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/deep/a.ts', true],
    ['src/**', 'src/a/b', true],
    ['src/**', 'src', false],
    ['src/**/b', 'src/b', true],
    ['src/**/b', 'src/x/y/b', true],
    ['**/a/**/b', 'x/a/c/a/d/b', true],
    ['**', 'a/b/c', true],
    ['a**b', 'axxb', true],
    ['a**b', 'ax/xb', false],
    ['./src/*.ts', 'src/a.ts', true],
    ['/src/*.ts', 'src/a.ts', true],
    ['?.ts', 'a.ts', true],
    ['?.ts', '🙂.ts', true],
    ['??.ts', '🙂.ts', false],
    ['?.ts', '.ts', false],
    ['[abc].ts', 'b.ts', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'dx', true],
    ['[^a-c]x', 'bx', false],
    ['[]a]', ']', true],
    ['[a-]', '-', true],
    ['[a', '[a', true],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['*.{ts,tsx}', 'a.js', false],
    ['{src,test}/**/*.{ts,md}', 'test/x/a.md', true],
    ['{a,{b,c}}d', 'cd', true],
    ['{a,{b,c}}d', 'ad', true],
    ['a{,b}', 'a', true],
    ['{a}', '{a}', true],
    ['{a,b', '{a,b', true],
    ['a}', 'a}', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['\\{a,b\\}', '{a,b}', true],
    ['*', '.env', false],
    ['.*', '.env', true],
    ['**/*.yml', '.github/ci.yml', false],
    ['**/.github/**', 'x/.github/a/ci.yml', true],
    ['.github/**', '.github/a/ci.yml', true],
    ['.github/**', '.github/.x/ci.yml', false],
    ['?env', '.env', false],
    ['[.]env', '.env', false],
    ['a.b+(c)|d', 'a.b+(c)|d', true],
  ])('%j over %j: %j', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  it.each([
    ['nothing', ''],
    ['over 1,000 characters', 'a'.repeat(1_001)],
    ['braces that multiply', '{a,b}'.repeat(20)],
  ])('of %s is refused', (_, pattern) => {
    expect(catchError(() => compileGlob(pattern)).code).toBe('invalid_arguments');
  });

  it.each([
    ['stars in a name', `${'*a'.repeat(100)}b`, 'a'.repeat(255)],
    ['double stars', `${'**/a/'.repeat(60)}b`, `${'a/'.repeat(500)}c`],
    ['sets', `${'*[ab]'.repeat(80)}c`, 'ab'.repeat(120)],
  ])('of many %s takes no time', (_, pattern, path) => {
    const begun = performance.now();
    expect(matches(pattern, path)).toBe(false);
    expect(performance.now() - begun).toBeLessThan(200);
  });

  it('agrees with a plain definition on small patterns', () => {
    const random = createRandom(7);
    const letters = ['a', 'b', '*', '?', '/', '**/', 'a', 'b'];
    for (let n = 0; n < 20_000; n++) {
      const pattern = Array.from({ length: 1 + random.below(6) }, () => random.pick(letters)).join('');
      const path = Array.from({ length: 1 + random.below(4) }, () =>
        random.pick(['a', 'b', 'ab', 'ba']),
      ).join('/');
      expect(matches(pattern, path), `${pattern} over ${path}`).toBe(matchPlainly(pattern, path));
    }
  });
});

/** The definition, tried out in every way there is. */
function matchPlainly(pattern: string, path: string): boolean {
  const segments = pattern.split('/').filter((segment) => segment !== '');
  return matchParts(segments, path.split('/'));
}

function matchParts(segments: string[], parts: string[]): boolean {
  const [segment, ...rest] = segments;
  if (segment === undefined) return parts.length === 0;
  if (segment === '**') {
    // At the end it stands for one part at least.
    const least = rest.length === 0 ? 1 : 0;
    return (
      parts.some((_, i) => i >= least && matchParts(rest, parts.slice(i))) ||
      (parts.length >= least && matchParts(rest, []))
    );
  }
  const [part, ...others] = parts;
  return part !== undefined && matchText(segment, part) && matchParts(rest, others);
}

function matchText(segment: string, text: string): boolean {
  const [first, ...rest] = segment;
  if (first === undefined) return text === '';
  const left = rest.join('');
  if (first === '*') return matchText(left, text) || (text !== '' && matchText(segment, text.slice(1)));
  return text !== '' && (first === '?' || first === text[0]) && matchText(left, text.slice(1));
}
