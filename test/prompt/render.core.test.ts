import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { render } from '../../durable/prompt/render.ts';
import { createRandom } from '../support/random.ts';

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
  it('is replaced by its value, however often and whatever the value holds', () => {
    expect(renderText('{{n}} {{n}} {{n}}', { n: 'x' })).toBe('x x x'); // TPL-20
    const patterns = "fix the $& and $' and $` and $$ parts";
    expect(renderText('ASK {{q}} END', { q: patterns })).toBe(`ASK ${patterns} END`); // TPL-01
    expect(renderText('cost {{q}}', { q: '100$$' })).toBe('cost 100$$'); // TPL-02
    expect(renderText('v={{name}}', { name: 'a$&b' })).toBe('v=a$&b'); // TPL-24
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

/** The obvious way, by a regular expression: only for texts without errors. */
function renderSlowly(text: string, variables: Record<string, string>): string {
  return text.replaceAll(/\{\{([a-z][a-z0-9_]*)\}\}/g, (whole, name: string) => variables[name] ?? whole);
}

it('agrees with an obvious second implementation on random texts', () => {
  const random = createRandom(20_261_130);
  const pieces = ['{{a}}', '{{b}}', 'x', ' ', '{', '}', '$&', '\n', '界', '{"k":1}', '$$'];
  const variables = { a: 'A{{b}}', b: '$1' };
  let rendered = 0;
  for (let i = 0; i < 30_000; i++) {
    const text = Array.from({ length: random.below(8) }, () => random.pick(pieces)).join('');
    try {
      expect(renderText(text, variables)).toBe(renderSlowly(text, variables));
      rendered++;
    } catch (error) {
      if (!(error instanceof PerchError)) throw error;
      expect(text).toMatch(/\{\{[\s\S]*\}\}/);
    }
  }
  expect(rendered).toBeGreaterThan(20_000);
});

it('takes hostile input in its stride: a megabyte of open braces, and of references', () => {
  const open = '{{'.repeat(500_000);
  expect(renderText(open)).toBe(open);
  expect(renderText('{{a}}'.repeat(200_000), { a: 'b' })).toBe('b'.repeat(200_000));
});
