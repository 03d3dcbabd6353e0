/**
 * Patterns of a search. Expressions run on RE2: a backtracking engine can be kept busy for years by forty characters,
 * and nothing can stop it inside an object. RE2 takes pattern × text steps, and is loaded when it is first needed.
 */
import { invalidArguments } from '../errors.ts';

const MAX_PATTERN_LENGTH = 1_000;
/** Of the compiled program, in instructions: with `PIECE_LENGTH` it bounds what runs between two looks at the clock. */
const MAX_PROGRAM = 1_000;

export interface Matcher {
  /** Whether there is a match in a text of one or more lines. It may say yes where no line of it matches by itself. */
  test: (text: string) => boolean;
  /** The first match in one line, without its end. */
  find: (line: string) => { start: number; end: number } | null;
  /** Steps a character, about. */
  cost: number;
}

export interface Pattern {
  text: string;
  literal: boolean;
  ignoreCase: boolean;
}

/** Throws `invalid_arguments` for what is no pattern here, with the reason. */
export async function compilePattern({ text, literal, ignoreCase }: Pattern): Promise<Matcher> {
  if (text === '' || text.length > MAX_PATTERN_LENGTH)
    throw invalidArguments(`A pattern has 1 to ${MAX_PATTERN_LENGTH} characters.`);
  if (/[\r\n]/.test(text))
    throw invalidArguments('A pattern is looked for line by line: it has no line end.');
  if (literal || !/[\\^$.*+?()[\]{}|]/.test(text)) return compileLiteral(text, ignoreCase);
  return compileExpression(text, ignoreCase);
}

function compileLiteral(text: string, ignoreCase: boolean): Matcher {
  if (!ignoreCase) {
    const find: Matcher['find'] = (line) => {
      const start = line.indexOf(text);
      return start < 0 ? null : { start, end: start + text.length };
    };
    return { test: (whole) => whole.includes(text), find, cost: 1 };
  }
  // An escaped text has nothing in it that could be tried in two ways.
  const expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'iu');
  return {
    test: (whole) => expression.test(whole),
    find: (line) => {
      const found = expression.exec(line);
      return found && { start: found.index, end: found.index + found[0].length };
    },
    cost: 1,
  };
}

async function compileExpression(text: string, ignoreCase: boolean): Promise<Matcher> {
  const { RE2JS } = await import('re2js');
  const flags = RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  const expression = compileRe2(() => RE2JS.compile(text, flags), text);
  const cost = expression.programSize();
  if (cost > MAX_PROGRAM) {
    throw invalidArguments('The pattern is too large: use smaller counts in braces, or fewer of them.');
  }
  // These see the ends of the whole text, or of a line by a flag of their own: each line is then looked at by itself.
  const isByText = /\\[Az]|\(\?[a-zA-Z]*-/.test(text);
  return {
    test: (whole) => isByText || expression.test(whole),
    find: (line) => {
      // Saying where costs far more than saying whether.
      if (!expression.test(line)) return null;
      const matcher = expression.matcher(line);
      return matcher.find() ? { start: matcher.start(), end: matcher.end() } : null;
    },
    cost,
  };
}

function compileRe2<T>(compile: () => T, text: string): T {
  try {
    return compile();
  } catch (error) {
    const hint = /\(\?<?[=!]|\\[1-9]/.test(text)
      ? ' Look-around and back-references are not known here.'
      : '';
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidArguments(`The pattern is no regular expression (RE2 syntax): ${reason}.${hint}`);
  }
}
