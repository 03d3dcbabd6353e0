/** HTML as it comes: broken, hostile, enormous. */
import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { renderMarkdown } from '../../durable/tools/web/markdown.ts';
import { chooseSeed, createRandom } from '../support/random.ts';

const URL_OF_PAGE = new URL('https://example.com/a/b/');

function render(html: string, { whole = false, limit = 5_000_000 } = {}) {
  return renderMarkdown(html, { url: URL_OF_PAGE, whole, limit });
}

/** The markdown, or the code of the refusal. */
function outcome(html: string): { markdown: string } | { code: string } {
  try {
    return { markdown: render(html).markdown };
  } catch (error) {
    if (error instanceof PerchError) return { code: error.data.code };
    throw error;
  }
}

describe('a page', () => {
  it.each([
    ['<p>a<nav>menu</nav><aside>ads</aside><footer>imprint</footer>', 'a'],
    ['<p>around<main><p>inside<footer>by me</footer></main>', 'inside\n\nby me'],
    ['<p>around<div role="main"><p>inside</div>', 'inside'],
    ['<p>a<p hidden>b<template>c</template><svg><text>d</text></svg><iframe>e</iframe>', 'a'],
    ['<form><p>asked <input value=1><select><option>x</select><button>Go</button></form>', 'asked'],
    ['<nav><p>nothing but a menu</nav>', 'nothing but a menu'],
    ['<script>"<main>"</script><p>no main part', 'no main part'],
  ])('of %s shows “%s”', (html, markdown) => {
    expect(render(html).markdown).toBe(markdown);
  });

  it('says whether parts were left out', () => {
    expect(render('<main><p>a</main>').partial).toBe(true);
    expect(render('<nav>a</nav>').partial).toBe(false);
    expect(render('<main><p>a</main><p>b', { whole: true })).toMatchObject({
      partial: false,
      markdown: 'a\n\nb',
    });
  });

  it.each([
    ['<title> A &amp;\n B </title><svg><title>C</title></svg>', 'A & B'],
    ['<main>x</main><title>Late</title>', 'Late'],
    ['<p>x', ''],
  ])('of %s has the title “%s”', (html, title) => {
    expect(render(html).title).toBe(title);
    expect(render(html).markdown).not.toContain(title === '' ? 'title' : title);
  });

  it.each([
    ['<a href="../c?d=1&amp;e=2#f">x</a>', '[x](https://example.com/a/c?d=1&e=2#f)'],
    ['<a href="//other.example.com">x</a>', '[x](https://other.example.com/)'],
    ['<a href="javascript:alert(1)">x</a>', 'x'],
    ['<a href=" JaVaScRiPt:alert(1)">x</a>', 'x'],
    ['<a href="data:text/html,x">x</a>', 'x'],
    ['<a href="http://[bad">x</a>', 'x'],
    ['<base href="https://base.example.com/z/"><a href="y">x</a>', '[x](https://base.example.com/z/y)'],
    ['<base href="javascript:1"><a href="y">x</a>', '[x](https://example.com/a/b/y)'],
    ['a<img src="data:image/png;base64,AAAA" alt="inline">b', 'a b'],
    ['<img src="i.png" alt="A map">', '![A map](https://example.com/a/b/i.png)'],
  ])('of %s links to %s', (html, markdown) => {
    expect(render(html).markdown).toBe(markdown);
  });
});

describe('a page that is not as it should be', () => {
  it.each([
    ['<tr><td>x', 'x'],
    ['<th>x</th><td>y', 'x y'],
    ['<td><table><th>x<td>y</table>', '<table>x | y</table>'],
    ['<b>a<p>b</b>c', '**a b**c'],
    ['</div></p>a', 'a'],
    ['a < b', 'a < b'],
    ['a<!-- b', 'a'],
    ['a&#xD800;b&#0;c', 'a\uFFFDb\uFFFDc'],
  ])('is read all the same: %s', (html, markdown) => {
    expect(render(html).markdown).toBe(markdown);
  });

  it.each([
    ['100,000 open elements', '<div>'.repeat(100_000)],
    ['20,000 open lists', '<ul><li>'.repeat(20_000)],
    ['20,000 open quotes', '<blockquote>'.repeat(20_000)],
    ['5,000 open tables', '<table><tr><td>'.repeat(5_000)],
    ['20,000 open pieces of code', '<code>`'.repeat(20_000)],
    ['20,000 open bold texts', '<b>x'.repeat(20_000)],
    ['an attribute without an end', `<a href="${'x'.repeat(1_000_000)}`],
    ['a million signs', '<'.repeat(1_000_000)],
    ['comments in comments', '<!--'.repeat(200_000)],
    ['quotes with many lines', `${'<blockquote>'.repeat(255)}<pre>${'a\n'.repeat(1_000_000)}`],
    ['a list with many lines', `${'<ul><li>'.repeat(250)}<pre>${'a\n'.repeat(1_000_000)}`],
    ['paragraphs in quotes', '<blockquote>'.repeat(255) + '<p>a</p>'.repeat(300_000)],
    ['a table of a million columns', '<table><tr><td colspan=1000000 rowspan=65534>a</table>'],
  ])('does not become a text many times its size: %s', (_, html) => {
    const result = outcome(html);
    if ('code' in result) expect(result.code).toBe('fetch_too_large');
    else expect(result.markdown.length).toBeLessThan(20 * html.length);
  });

  it('with more text than the limit is refused, not cut', () => {
    const html = `<p>${'word '.repeat(3_000)}`;
    expect(() => render(html, { limit: 10_000 })).toThrow('longer than 10000 characters');
    expect(render(html, { limit: 20_000 }).markdown).toHaveLength(14_999);
  });

  const seed = chooseSeed();
  it(`never breaks the reader: 3,000 random pages (seed ${seed})`, () => {
    const random = createRandom(seed);
    const names =
      'html head title body main nav p div b i a code pre ul ol li table tr td th blockquote br hr img svg script style template details summary select option x-y'.split(
        ' ',
      );
    const words = [
      'word ',
      '\n',
      '&amp;',
      '&#x1F600;',
      '&#xD800;',
      '<',
      '>',
      '"',
      '`',
      '|',
      '*',
      '😀',
      '\uD83D',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '</',
      '<!',
      '<?',
      "='",
    ];
    for (let i = 0; i < 3_000; i += 1) {
      const html = Array.from({ length: random.below(60) }, () => {
        const name = random.pick(names);
        const kind = random.below(4);
        if (kind === 0) return `</${name}>`;
        if (kind === 1)
          return `<${name} href="${random.pick(['x', 'javascript:1', '//y', '', '\u00ad'])}" src=z class='language-q' hidden=${random.pick(['a', 'until-found'])}>`;
        return kind === 2 ? `<${name}>` : random.pick(words);
      }).join('');
      for (const whole of [false, true])
        expect(render(html.toWellFormed(), { whole }).markdown.isWellFormed()).toBe(true);
    }
  });
});
