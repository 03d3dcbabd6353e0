import { describe, expect, it } from 'vitest';
import { findGestures, scanGestures } from '../../durable/skills/gesture.ts';
import { chooseSeed, createRandom, type Random } from '../support/random.ts';
import { makeMessage } from './sample-skills.ts';

/** The rule said another way, slow and obvious: cut the text at white space, keep the parts that are `/` and a name. */
function scanSlowly(text: string): string[] {
  const names = text
    .split(/\s/)
    .filter((token) => token.startsWith('/'))
    .map((token) => token.slice(1))
    .filter((name) => name.length <= 64 && name.split('-').every((part) => /^[a-z0-9]+$/.test(part)));
  return [...new Set(names)];
}

/** What gestures are made of, and what is almost that. */
const PIECES = [
  ...[
    '/',
    '/',
    '/',
    '/',
    'a',
    'b',
    'z',
    '0',
    '9',
    '-',
    '-',
    ' ',
    ' ',
    '\n',
    '\t',
    '\r\n',
    'A',
    '.',
    '_',
    'é',
    '😀',
  ],
  ...['\u3000', '\ufeff', '\u200b', '\u2028', '\u180e', '\u0085', '\u00a0', 'ａ', '\u0301', 'a'.repeat(63)],
  ...[' /', ' /', '\n/', '\u3000/', ' /ab ', '/a-1\t', ' /b-2', '/0 '],
];

/** Mostly what gestures are made of; the rest is any code unit, half a surrogate pair included, or any code point. */
function makeText(random: Random): string {
  let text = '';
  for (let length = random.below(14); length > 0; length--) {
    const kind = random.next();
    if (kind < 0.8) text += random.pick(PIECES);
    else if (kind < 0.9) text += String.fromCharCode(random.below(0x1_0000));
    else text += String.fromCodePoint(random.below(0x11_0000));
  }
  return text;
}

describe('a gesture', () => {
  it.each([
    ['INV-03: at the end of a sentence', 'summarise, then /secret', ['secret']],
    ['INV-07: before a blank line', '/alpha\n\ncheck auth', ['alpha']],
    ['INV-08: before text with CRLF', '/alpha line1\r\nline2', ['alpha']],
    ['INV-34: after a mention', '<@U042> /alpha status', ['alpha']],
    ['INV-16: after U+3000', '帮我写周报\u3000/alpha', ['alpha']],
    ['INV-42: twice, counted once', '/alpha x /alpha', ['alpha']],
    ['INV-41: whole, never a near match', '/to-spec', ['to-spec']],
    ['in first-seen order', '/beta /alpha\t/beta /gamma', ['beta', 'alpha', 'gamma']],
    ['with digits and single hyphens', '/2fa-setup /a-1-b', ['2fa-setup', 'a-1-b']],
    ['after a no-break space', 'go\u00a0/alpha', ['alpha']],
    ['of 64 characters', `/${'a'.repeat(64)}`, ['a'.repeat(64)]],
    [
      'INV-10: of a route that is one word, which names no skill here',
      'the route /login returns 500',
      ['login'],
    ],
  ])('is found %s', (_, text, names) => expect(scanGestures(text)).toEqual(names));

  it.each([
    ['INV-12: a path, x/name and a double slash', 'see /alpha/.config and x/alpha and //alpha'],
    ['INV-16: no space before the slash', '帮我写周报/alpha'],
    ['a full stop after it', 'do /alpha.'],
    ['an upper-case letter', '/Alpha /aLPHA'],
    ['a fraction', '1/2 and 3 /4,5'],
    ['a slash alone', '/ // /'],
    ['hyphens at the wrong place', '/-a /a- /a--b'],
    ['punctuation around it', '(/alpha) "/alpha" `/alpha` /alpha, /alpha:'],
    ['an underscore', '/alpha_beta'],
    ['a zero-width space, which is no white space', 'x\u200b/alpha /alpha\u200b'],
    ['letters beyond ASCII', '/café /ａlpha'],
    ['65 characters', `/${'a'.repeat(65)}`],
    ['nothing', ''],
  ])('is not %s', (_, text) => expect(scanGestures(text)).toEqual([]));

  it('is what a slow and obvious scanner says, on a million random texts', { timeout: 60_000 }, () => {
    const seed = chooseSeed();
    const random = createRandom(seed);
    let found = 0;
    for (let round = 0; round < 1_000_000; round++) {
      const text = makeText(random);
      const names = scanGestures(text);
      found += names.length;
      // Comparing strings is much cheaper than `expect`, which is for the report.
      if (names.join() !== scanSlowly(text).join()) {
        expect(names, `SEED=${seed}, text ${round}: ${JSON.stringify(text)}`).toEqual(scanSlowly(text));
      }
    }
    expect(found).toBeGreaterThan(100_000);
  });

  it('sees white space as the pattern does, for every code unit', () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = `x${String.fromCharCode(unit)}/alpha`;
      if (scanGestures(text).length > 0 !== /\s/.test(text))
        throw new Error(`differs at U+${unit.toString(16)}`);
    }
  });

  it('costs no more than the length of a hostile text', () => {
    const parts = ['/', '/a', '/a-', '/-', ' /', '/a'.repeat(40), ' /a-a', '-', 'a', ' '];
    const makeHostile = (length: number): string[] => [
      ...parts.map((part) => part.repeat(length / part.length)),
      `/${'a-'.repeat(length / 2)}`,
      ` /${'a'.repeat(length)}`,
    ];
    const measure = (texts: string[]): number => {
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 3; round++) {
        const started = performance.now();
        for (const text of texts) scanGestures(text);
        best = Math.min(best, performance.now() - started);
      }
      return best;
    };
    const [small, large] = [makeHostile(250_000), makeHostile(1_000_000)];
    // Four times the length; a quadratic scanner would take sixteen times as long (and minutes at that).
    const [few, many] = [measure(small), measure(large)];
    expect(many).toBeLessThan(8 * few + 20);
    expect(many).toBeLessThan(1000);
  });
});

describe('where gestures are looked for', () => {
  it('is what people said, across messages and blocks, each name once', () => {
    const messages = [makeMessage(['/alpha x', 'then', '/beta']), makeMessage('again /alpha and /gamma')];
    expect(findGestures(messages)).toEqual(['alpha', 'beta', 'gamma']);
  });

  it('does not join two blocks into one token', () => {
    expect(findGestures([makeMessage(['/al', 'pha', 'x/', 'beta'])])).toEqual(['al']);
  });

  it('INV-32: is nothing that anybody else said', () => {
    const digest = 'd';
    const others = [
      makeMessage('/beta', { kind: 'bot', id: 'b' }),
      makeMessage('/beta', { kind: 'webhook', endpoint: 'ci' }),
      makeMessage('/beta', { kind: 'delegation', parent: 's' }),
      makeMessage('use /beta', { kind: 'skill-invocation', name: 'alpha', form: 'instructions', digest }),
      makeMessage('/beta', { kind: 'skill-catalog', form: 'catalog', entries: [], digest }),
      makeMessage('/beta', { kind: 'instructions', name: 'AGENTS.md' }),
      makeMessage('/beta', { kind: 'references', name: 'file' }),
      makeMessage('/beta', { kind: 'runtime-context', name: 'clock', digest }),
      makeMessage('/beta', { kind: 'plugin', name: 'p' }),
    ];
    expect(findGestures(others)).toEqual([]);
  });
});
