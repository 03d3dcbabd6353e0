import { describe, expect, it } from 'vitest';
import { checkPurity, createCoreMatcher, findStalePatterns } from '../../scripts/check/purity.ts';

const isCore = createCoreMatcher([
  'durable/core/{one,two}.ts',
  'durable/core/part-*.ts',
  'durable/storage/digest.ts',
]);

function findFaults(text: string, path = 'durable/core/one.ts'): string[] {
  return checkPurity(path, text, isCore).map(({ line, message }) => `${line}: ${message}`);
}

describe('the purity rule', () => {
  it.each([
    ['a clock', 'export const now = (): number => Date.now();', 'Date'],
    ['a date of now', 'export const today = new Date();', 'Date'],
    ['randomness', 'export const die = () => Math.random();', 'Math.random'],
    ['randomness by another spelling', "export const die = () => Math['random']();", 'Math.random'],
    ['random ids', 'export const id = () => crypto.randomUUID();', 'crypto'],
    ['the network', "export const load = () => fetch('https://example.com');", 'fetch'],
    ['timers', 'setTimeout(() => undefined, 1);', 'setTimeout'],
    ['a clock handed on', 'export const clocks = { performance };', 'performance'],
    ['the process', "export const home = process.env['HOME'];", 'process'],
    ['the global object', 'export const all = globalThis;', 'globalThis'],
  ])('finds %s', (_, text, what) => {
    expect(findFaults(text)).toEqual([`1: the core does not touch ${what}`]);
  });

  it.each([
    [
      'the platform',
      "import { DurableObject } from 'cloudflare:workers';\nexport class A extends DurableObject {}",
    ],
    ['another module of Node', "import { readFileSync } from 'node:fs';\nexport const a = readFileSync;"],
    ['a file that is not of the core', "import { a } from '../storage/sql.ts';\nexport const b = a;"],
    ['a file by a bare import', "import '../storage/sql.ts';"],
    ['what it only hands on', "export { a } from '../storage/sql.ts';"],
    ['all that it hands on', "export * from '../storage/sql.ts';"],
  ])('finds an import of %s', (_, text) => {
    expect(findFaults(text)).toHaveLength(1);
    expect(findFaults(text)[0]).toMatch(/^1: the core imports .+, which is not of it$/);
  });

  it('finds what is loaded while it runs, and the line of it', () => {
    expect(findFaults("\n\nexport const load = () => import('./two.ts');")).toEqual([
      '3: the core loads nothing while it runs',
    ]);
  });

  it.each([
    ['comments and strings', "// Date.now()\n/** fetch */\nexport const text = 'setTimeout(fetch)';"],
    ['names of properties', 'export const a = { fetch: 1, Date() {} };\nexport const b = a.fetch;'],
    ['types', 'export const f = (date: Date, go: typeof fetch): Date => (go, date);'],
    ['imports of types', "import type { SqlPort } from '../storage/sql.ts';\nexport type P = SqlPort;"],
    [
      'what the function is given',
      'export const f = (fetch: () => void, { crypto } = { crypto: 1 }) => [fetch(), crypto];',
    ],
    ['reading a date out of a text', 'export const at = (text: string) => Date.parse(text);'],
    ['other files of the core', "import { a } from './part-two.ts';\nexport const b = a;"],
    ['packages that only compute', "import { z } from 'zod';\nexport const s = z.string();"],
  ])('leaves %s alone', (_, text) => {
    expect(findFaults(text)).toEqual([]);
  });

  it('lets the digest alone use a crypto module', () => {
    const text = "import { createHash } from 'node:crypto';\nexport const h = createHash;";
    expect(findFaults(text, 'durable/storage/digest.ts')).toEqual([]);
    expect(findFaults(text)).toHaveLength(1);
  });

  it('names patterns that match no file any more', () => {
    expect(
      findStalePatterns(['durable/core/one.ts'], ['durable/core/{one,two}.ts', 'durable/gone.ts']),
    ).toEqual(['durable/gone.ts']);
  });
});
