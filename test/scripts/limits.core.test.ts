import { describe, expect, it } from 'vitest';
import { checkLimits } from '../../scripts/check/limits.ts';

const statements = (count: number): string => 'call();\n'.repeat(count);

describe('the size limits', () => {
  it('take 400 lines of a file and no more', () => {
    expect(checkLimits('a.ts', statements(400))).toEqual([]);
    expect(checkLimits('a.ts', statements(401))).toEqual([
      { path: 'a.ts', line: 1, message: 'the file has 401 lines; 400 are allowed' },
    ]);
  });

  it.each([
    ['a function', (body: string) => `function f() {\n${body}}\n`],
    ['an arrow function', (body: string) => `const f = () => {\n${body}};\n`],
    ['a method', (body: string) => `class A { m() {\n${body}} }\n`],
  ])('take 60 lines of %s and no more', (_, wrap) => {
    expect(checkLimits('a.ts', wrap(statements(58)))).toEqual([]);
    expect(checkLimits('a.ts', `\n${wrap(statements(59))}`)).toEqual([
      { path: 'a.ts', line: 2, message: 'the function has 61 lines of its own; 60 are allowed' },
    ]);
  });

  it('count what a factory returns as functions of their own', () => {
    const method = (name: string): string => `    ${name}() {\n${statements(40)}    },\n`;
    expect(
      checkLimits('a.ts', `function create() {\n  return {\n${method('a')}${method('b')}  };\n}\n`),
    ).toEqual([]);
  });

  it('find a long function inside of a short one', () => {
    const text = `function outer() {\n  return () => {\n${statements(70)}  };\n}\n`;
    expect(checkLimits('a.ts', text).map(({ line }) => line)).toEqual([2]);
  });

  it('do not count the fields of a class that a function returns', () => {
    const fields = Array.from({ length: 70 }, (_, i) => `  field${i} = ${i};\n`).join('');
    expect(checkLimits('a.ts', `function define() {\n  return class A {\n${fields}  };\n}\n`)).toEqual([]);
  });
});
