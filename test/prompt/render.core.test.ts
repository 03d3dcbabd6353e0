import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { render } from '../../durable/prompt/render.ts';
import { chooseSeed, createRandom, type Random } from '../support/random.ts';

const section = (text: string, more: { name?: string; order?: number; verbatim?: boolean } = {}) => ({
  name: more.name ?? 'test:section',
  owner: 'test',
  order: more.order ?? 0,
  text,
  verbatim: more.verbatim ?? false,
});

function renderText(text: string, variables: Record<string, string | undefined> = {}): string {
  return render({ sections: [section(text)], variables }).text;
}

function failureOf(text: string, variables: Record<string, string | undefined> = {}): PerchError {
  try {
    renderText(text, variables);
  } catch (error) {
    if (error instanceof PerchError) return error;
    throw error;
  }
  throw new Error(`${text} rendered`);
}

describe('a reference', () => {
  it('is replaced by its value, however often and whatever the value holds (TPL-01, TPL-02, TPL-20, TPL-24)', () => {
    expect(renderText('{{n}} {{n}} {{n}}', { n: 'x' })).toBe('x x x');
    const patterns = "fix the $& and $' and $` and $$ parts";
    expect(renderText('ASK {{q}} END', { q: patterns })).toBe(`ASK ${patterns} END`);
    expect(renderText('cost {{q}}', { q: '100$$' })).toBe('cost 100$$');
    expect(renderText('v={{name}}', { name: 'a$&b' })).toBe('v=a$&b');
  });

  it('is not looked for in a value', () => {
    expect(renderText('{{a}}', { a: '{{b}}', b: 'no' })).toBe('{{b}}');
    expect(renderText('{{a}}{{b}}', { a: '{', b: '{c}}' })).toBe('{{c}}');
  });

  it('may stand beside single braces and dollars, which are prose (TPL-17, TPL-15)', () => {
    expect(renderText('Hi {{t}} {"name": "x"} {}', { t: 'you' })).toBe('Hi you {"name": "x"} {}');
    expect(renderText('Price $5 for {{item}}', { item: 'pear' })).toBe('Price $5 for pear');
  });

  it('to nothing known fails, naming the section and what is known', () => {
    const error = failureOf('You are {{modle}}.', { model: 'm', cwd: '/' });
    expect(error.data.code).toBe('prompt_unknown_variable');
    expect(error.data.detail).toContain('test:section');
    expect(error.data.detail).toContain('{{modle}}');
    expect(error.data.facts).toEqual({ section: 'test:section', owner: 'test', known: ['cwd', 'model'] });
  });

  it('to an inherited property is a reference to nothing (TPL-12, TPL-25)', () => {
    for (const name of ['constructor', 'toString', 'valueOf']) {
      expect(failureOf(`{{${name.toLowerCase()}}}`).data.code).toBe('prompt_unknown_variable');
    }
    expect(failureOf('{{constructor}}').data.code).toBe('prompt_unknown_variable');
    expect(failureOf('{{__proto__}}').data.code).toBe('prompt_malformed_reference');
  });

  it('to a variable without a value fails in its own way', () => {
    expect(failureOf('{{branch}}', { branch: undefined }).data.code).toBe('prompt_variable_without_value');
    expect(renderText('no reference', { branch: undefined })).toBe('no reference');
  });

  it('that is malformed fails: spaces, nothing, capitals, dots, foreign template languages (TPL-21, TPL-23)', () => {
    for (const text of [
      '{{ a }}',
      '{{}}',
      '{{A}}',
      '{{a.b}}',
      '{{1a}}',
      '${{ github.sha }}',
      '{{#each x}}',
      '{{>p}}',
      '{{&v}}',
    ]) {
      expect(failureOf(text, { a: '1' }).data.code, text).toBe('prompt_malformed_reference');
    }
  });

  it('that is unbalanced fails', () => {
    for (const text of ['{{{a}}}', '{{ {{a}}', 'x {{{{a}}}}']) {
      expect(failureOf(text, { a: '1' }).data.code, text).toBe('prompt_unbalanced_reference');
    }
  });

  it('is prose where no closing braces follow', () => {
    expect(renderText('a lone {{ stays')).toBe('a lone {{ stays');
    expect(renderText('{{a}} and {{ stays', { a: '1' })).toBe('1 and {{ stays');
    expect(renderText('closing }} alone')).toBe('closing }} alone');
  });

  it('shows a hostile name in an error only in part', () => {
    expect(failureOf(`{{${'x'.repeat(100_000)} }}`).data.detail.length).toBeLessThan(500);
  });
});

describe('sections', () => {
  it('come by order, then by name in code units, whatever the order of registration', () => {
    const sections = [
      section('c', { name: 'b', order: 1 }),
      section('a', { name: 'Z', order: 1 }),
      section('0', { order: -1 }),
    ];
    expect(render({ sections, variables: {} }).text).toBe('0\n\na\n\nc');
    expect(render({ sections: sections.toReversed(), variables: {} }).text).toBe('0\n\na\n\nc');
  });

  it('vanish where they are empty, without a gap', () => {
    const sections = [
      section('a', { name: 'a' }),
      section('{{e}}', { name: 'b' }),
      section('c', { name: 'c' }),
    ];
    expect(render({ sections, variables: { e: '' } }).text).toBe('a\n\nc');
  });

  it('that are verbatim are no templates', () => {
    const text = 'cost \\$5 and {{name}} ${{ x }} {{{';
    expect(render({ sections: [section(text, { verbatim: true })], variables: {} }).text).toBe(text);
  });

  it('tell which variables they used, and no others', () => {
    const rendered = render({
      sections: [section('{{b}} {{a}} {{b}}')],
      variables: { a: '1', b: '2', c: '3' },
    });
    expect(rendered.used).toEqual(['a', 'b']);
  });
});

/**
 * The rule said another way, slow and obvious: what a text comes to, or the code of its first error. A `{{` belongs to
 * the next `}}` after it, and what is between them is a name that is known and has a value, or an error.
 */
function renderSlowly(text: string, variables: Record<string, string | undefined>): string {
  const group = /^([\s\S]*?)\{\{([\s\S]*?)\}\}([\s\S]*)$/.exec(text);
  if (group === null) return text;
  const [, before = '', name = '', after = ''] = group;
  if (name.includes('{')) return 'prompt_unbalanced_reference';
  if (!/^[a-z][a-z0-9_]*$/.test(name)) return 'prompt_malformed_reference';
  if (!Object.keys(variables).includes(name)) return 'prompt_unknown_variable';
  const value = variables[name];
  if (value === undefined) return 'prompt_variable_without_value';
  const rest = renderSlowly(after, variables);
  return rest.startsWith('prompt_') ? rest : `${before}${value}${rest}`;
}

function renderOrCode(text: string, variables: Record<string, string | undefined>): string {
  try {
    return renderText(text, variables);
  } catch (error) {
    if (error instanceof PerchError) return error.data.code;
    throw error;
  }
}

/** What references are made of, and what is almost that. */
const PIECES = [
  ...[
    '{{a}}',
    '{{a}}',
    '{{b}}',
    '{{b}}',
    '{{c_1}}',
    '{{empty}}',
    '{{none}}',
    '{{no}}',
    '{{toString}}',
    '{{ a }}',
  ],
  ...[
    '{',
    '}',
    '{{',
    '}}',
    'a',
    'b',
    ' ',
    '\n',
    '$&',
    '$$',
    '{"k":1}',
    '界',
    '😀',
    '\u2028',
    '__proto__',
    'A',
    '.',
  ],
];
const VALUES = { a: 'A{{b}}', b: '$1', c_1: '}}', empty: '', none: undefined };

/** Mostly few pieces, so that half of the texts have no error; the rest is any code unit or code point. */
function makeText(random: Random): string {
  let text = '';
  for (let length = random.below(7); length > 0; length--) {
    const kind = random.next();
    if (kind < 0.45) text += random.pick(PIECES.slice(0, 6));
    else if (kind < 0.9) text += random.pick(PIECES);
    else if (kind < 0.95) text += String.fromCharCode(random.below(0x1_0000));
    else text += String.fromCodePoint(random.below(0x11_0000));
  }
  return text;
}

it('agrees with a slow and obvious second implementation on a million random texts', {
  timeout: 60_000,
}, () => {
  const seed = chooseSeed();
  const random = createRandom(seed);
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 1_000_000; round++) {
    const text = makeText(random);
    const outcome = renderOrCode(text, VALUES);
    const expected = renderSlowly(text, VALUES);
    // Comparing strings is much cheaper than `expect`, which is for the report.
    if (outcome !== expected) {
      expect(outcome, `SEED=${seed}, text ${round}: ${JSON.stringify(text)}`).toBe(expected);
    }
    const kind = outcome.startsWith('prompt_') ? outcome : 'rendered';
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
  }
  // The test is worth something only if each way out was taken often.
  expect(outcomes.size).toBe(5);
  for (const [kind, count] of outcomes) expect(count, kind).toBeGreaterThan(10_000);
  expect(outcomes.get('rendered')).toBeGreaterThan(300_000);
});

it('takes hostile input in its stride: a megabyte of open braces, and of references', () => {
  const open = '{{'.repeat(500_000);
  expect(renderText(open)).toBe(open);
  expect(renderText('{{a}}'.repeat(200_000), { a: 'b' })).toBe('b'.repeat(200_000));
  for (const part of ['}}', '{', '}', '{{{', '}}{{', 'x{{ ']) {
    const text = part.repeat(1_000_000 / part.length);
    const started = performance.now();
    renderOrCode(text, {});
    expect(performance.now() - started, part).toBeLessThan(500);
  }
});
