/** Where two texts part, in a form for people. Pure. */

const SHOWN_CHARACTERS = 160;

export interface TextChange {
  /** The first line that differs, from 1. */
  line: number;
  /** That line; null where the text has ended before it. */
  before: string | null;
  after: string | null;
}

/** Null for equal texts. Lines are shown up to `width` characters. */
export function compareText(before: string, after: string, width = SHOWN_CHARACTERS): TextChange | null {
  if (before === after) return null;
  const was = before.split('\n');
  const is = after.split('\n');
  const at = was.findIndex((line, i) => line !== is[i]);
  const index = at < 0 ? was.length : at;
  const [a = null, b = null] = [was[index], is[index]];
  const from = a !== null && b !== null ? startOfChange(a, b, width) : 0;
  return { line: index + 1, before: cut(a, from, width), after: cut(b, from, width) };
}

/** A long line is shown from a little before the place where the two part. */
function startOfChange(a: string, b: string, width: number): number {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return same < width / 2 ? 0 : same - Math.floor(width / 4);
}

function cut(line: string | null, from: number, width: number): string | null {
  if (line === null) return null;
  const shown = Array.from(line.slice(from));
  const start = from > 0 ? '…' : '';
  if (shown.length + start.length <= width) return `${start}${shown.join('')}`;
  return `${start}${shown.slice(0, width - 1 - start.length).join('')}…`;
}
