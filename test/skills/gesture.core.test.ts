import { describe, expect, it } from 'vitest';
import { findGestures, scanGestures } from '../../durable/skills/gesture.ts';
import { makeMessage } from './sample-skills.ts';

/** The rule as DESIGN writes it. */
function scanWithPattern(text: string): string[] {
  const found = text.matchAll(/(?<=^|\s)\/([a-z0-9]+(?:-[a-z0-9]+)*)(?=\s|$)/g);
  return [...new Set([...found].map((match) => match[1] ?? '').filter((name) => name.length <= 64))];
}

/** A small seeded generator, so that a failure can be repeated. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
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

  it('is what the pattern says, on random texts', () => {
    const random = createRandom(20261130);
    const alphabet = [
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
      '\u3000',
      '\ufeff',
      '\u200b',
      '\u2028',
      'A',
      '.',
      'é',
      '😀',
      '\u180e',
      '\u0085',
    ];
    for (let round = 0; round < 60_000; round++) {
      const length = random(24);
      let text = '';
      for (let i = 0; i < length; i++) text += alphabet[random(alphabet.length)] ?? '';
      expect(scanGestures(text), JSON.stringify(text)).toEqual(scanWithPattern(text));
    }
  });

  it('sees white space as the pattern does, for every code unit', () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = `x${String.fromCharCode(unit)}/alpha`;
      if (scanGestures(text).length > 0 !== /\s/.test(text))
        throw new Error(`differs at U+${unit.toString(16)}`);
    }
  });

  it('costs no more than the length of a hostile text', () => {
    const hostile = ['/', '/a', '/a-', '/-', ' /', '/a'.repeat(40), ' /a-a'].map((part) =>
      part.repeat(4_000_000 / part.length),
    );
    const started = performance.now();
    for (const text of hostile) scanGestures(text);
    scanGestures(`/${'a-'.repeat(2_000_000)}`);
    expect(performance.now() - started).toBeLessThan(3_000);
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
