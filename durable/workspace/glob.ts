/**
 * Globs over paths. Not by a translation into regular expressions, as glob libraries do it: a pattern is a model's or a
 * stranger's, and the twelve characters of `*a*a*a*a*a*b` keep such an expression busy for minutes over one long name.
 * Here a match takes at most pattern × path steps: going back to the last star alone is enough.
 */
import { invalidArguments } from '../errors.ts';
import { showPath } from './paths.ts';

const MAX_PATTERN_LENGTH = 1_000;
/** What `{a,b}{c,d}…` may multiply to. */
const MAX_ALTERNATIVES = 256;

type Token =
  | { kind: 'text'; text: string }
  | { kind: 'any' }
  | { kind: 'star' }
  | { kind: 'set'; negated: boolean; ranges: [number, number][] };
type Segment = Token[] | 'globstar';

/**
 * Tells whether a relative path (no `.`, `..` or empty parts) matches. `*` and `?` stay in their part, `**` as a whole
 * part is any number of parts, `[a-z]` and `[!a-z]` one character, `{a,b}` a choice, and a backslash takes the next
 * character as it is. A leading dot of a part is matched by nothing but a dot. Throws `invalid_arguments`.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  if (pattern === '' || pattern.length > MAX_PATTERN_LENGTH) {
    throw invalidArguments(`A glob pattern has 1 to ${MAX_PATTERN_LENGTH} characters.`);
  }
  const alternatives = expandBraces(pattern).map((alternative) => {
    // A pattern is looked for under a root: a leading `./` or `/` says nothing more.
    const parts = alternative.replace(/^(?:\.?\/)+/, '').split('/');
    return parts.filter((part) => part !== '').map(parseSegment);
  });
  return (path) => {
    const parts = path.split('/');
    return alternatives.some((segments) => matchSegments(segments, parts));
  };
}

/** The choices of the pattern's braces, multiplied out. A brace without a comma or its other half is a character. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = findGroup(next);
    if (group === null) done.push(next);
    else {
      const { start, end, choices } = group;
      for (const choice of choices.toReversed())
        open.push(next.slice(0, start) + choice + next.slice(end + 1));
    }
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw invalidArguments(
        `The braces of ${showPath(pattern)} make over ${MAX_ALTERNATIVES} patterns: use fewer.`,
      );
    }
  }
  return done;
}

interface Group {
  start: number;
  end: number;
  choices: string[];
}

/** The first group that has a choice in it. */
function findGroup(pattern: string): Group | null {
  const starts: { at: number; commas: number[] }[] = [];
  let found: Group | null = null;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i];
    if (character === '\\') i++;
    else if (character === '{') starts.push({ at: i, commas: [] });
    else if (character === ',') starts.at(-1)?.commas.push(i);
    else if (character === '}') {
      const group = starts.pop();
      if (group === undefined || group.commas.length === 0) continue;
      const cuts = [group.at, ...group.commas, i];
      const choices = cuts.slice(1).map((cut, n) => pattern.slice((cuts[n] ?? 0) + 1, cut));
      found = { start: group.at, end: i, choices };
      // The outermost group that closes last is not needed: groups inside one are expanded in its choices.
      if (starts.length === 0) return found;
    }
  }
  return found;
}

function parseSegment(segment: string): Segment {
  if (segment === '**') return 'globstar';
  const tokens: Token[] = [];
  for (let i = 0; i < segment.length; ) {
    const character = segment[i] ?? '';
    const set = character === '[' ? parseSet(segment, i) : null;
    if (set !== null) {
      tokens.push(set.token);
      i = set.end;
    } else if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
      i++;
    } else if (character === '?') {
      tokens.push({ kind: 'any' });
      i++;
    } else {
      const escaped = character === '\\' && i + 1 < segment.length;
      addText(tokens, escaped ? (segment[i + 1] ?? '') : character);
      i += escaped ? 2 : 1;
    }
  }
  return tokens;
}

function addText(tokens: Token[], text: string): void {
  const last = tokens.at(-1);
  if (last?.kind === 'text') last.text += text;
  else tokens.push({ kind: 'text', text });
}

/** `[…]` from its bracket on; null where it has no end: the bracket is then a character. */
function parseSet(segment: string, start: number): { token: Token; end: number } | null {
  let i = start + 1;
  const negated = segment[i] === '!' || segment[i] === '^';
  if (negated) i++;
  const ranges: [number, number][] = [];
  for (let first = true; i < segment.length; first = false) {
    if (segment[i] === ']' && !first) return { token: { kind: 'set', negated, ranges }, end: i + 1 };
    const low = readCharacter(segment, i);
    i = low.end;
    if (segment[i] === '-' && i + 1 < segment.length && segment[i + 1] !== ']') {
      const high = readCharacter(segment, i + 1);
      i = high.end;
      ranges.push([low.code, high.code]);
    } else ranges.push([low.code, low.code]);
  }
  return null;
}

function readCharacter(text: string, at: number): { code: number; end: number } {
  const start = text[at] === '\\' && at + 1 < text.length ? at + 1 : at;
  const code = text.codePointAt(start) ?? 0;
  return { code, end: start + sizeOf(code) };
}

function sizeOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/** Two hands and the place of the last `**`: what matched before it never has to be tried again. */
function matchSegments(segments: readonly Segment[], parts: readonly string[]): boolean {
  let s = 0;
  let p = 0;
  let star = -1;
  let resume = 0;
  while (p < parts.length) {
    const segment = segments[s];
    const part = parts[p] ?? '';
    if (segment === 'globstar') {
      star = s++;
      resume = p;
    } else if (segment !== undefined && matchPart(segment, part)) {
      s++;
      p++;
    } else if (star >= 0 && !(parts[resume] ?? '').startsWith('.')) {
      p = ++resume;
      s = star + 1;
    } else return false;
  }
  return s === segments.length;
}

function matchPart(tokens: readonly Token[], part: string): boolean {
  const [first] = tokens;
  if (part.startsWith('.') && first?.kind !== 'text') return false;
  let t = 0;
  let at = 0;
  let star = -1;
  let resume = 0;
  while (at < part.length || t < tokens.length) {
    const token = tokens[t];
    const width = token === undefined ? -1 : measureMatch(token, part, at);
    if (token?.kind === 'star') {
      star = t++;
      resume = at;
    } else if (width > 0) {
      t++;
      at += width;
    } else if (star >= 0 && resume < part.length) {
      at = ++resume;
      t = star + 1;
    } else return false;
  }
  return true;
}

/** UTF-16 units that the token takes there; -1 for none. */
function measureMatch(token: Token, part: string, at: number): number {
  if (token.kind === 'text') return part.startsWith(token.text, at) ? token.text.length : -1;
  const code = part.codePointAt(at);
  if (code === undefined || token.kind === 'star') return -1;
  if (token.kind === 'any') return sizeOf(code);
  const inside = token.ranges.some(([low, high]) => low <= code && code <= high);
  return inside === token.negated ? -1 : sizeOf(code);
}
