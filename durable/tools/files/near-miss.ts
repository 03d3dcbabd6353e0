/** What an edit that matched nothing may have meant. */
import { splitLines } from '../../workspace/text.ts';
import { shortenLine } from './shapes.ts';

/** Lines of the file that the answer shows. */
const SHOWN_LINES = 12;
const SHOWN_CHARS = 300;
const PLACES = 3;

/** Sentences for the model: the nearest there is, with the lines as they really are. */
export function describeNearMiss(text: string, old: string): string {
  const lines = splitLines(text);
  const wanted = splitLines(old);
  const hints: [string, (line: string) => string][] = [
    ['Only white space differs', (line) => line.replace(/\s+/g, ' ').trim()],
    ['Only case and white space differ', (line) => line.replace(/\s+/g, ' ').trim().toLowerCase()],
    ['Only quotes, case and white space differ', toPlain],
  ];
  for (const [hint, fold] of hints) {
    const places = findRuns(lines.map(fold), wanted.map(fold));
    if (places.length > 0) return showPlaces(hint, lines, places, wanted.length);
  }
  return describeFirstLine(lines, wanted);
}

/** With straight quotes and plain hyphens, however they were typed. */
function toPlain(line: string): string {
  return line
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2014]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();
}

/** Where the wanted lines stand one after another. The first may be the end of a line, the last the beginning of one. */
function findRuns(lines: readonly string[], wanted: readonly string[]): number[] {
  const [first] = wanted;
  if (first === undefined || wanted.every((line) => line === '')) return [];
  const isRun = (start: number): boolean =>
    wanted.every((line, i) => {
      const there = lines[start + i];
      if (there === undefined) return false;
      if (wanted.length === 1) return there.includes(line);
      if (i === 0) return there.endsWith(line);
      return i === wanted.length - 1 ? there.startsWith(line) : there === line;
    });
  const places: number[] = [];
  for (let start = 0; start + wanted.length <= lines.length && places.length <= PLACES; start++)
    if (isRun(start)) places.push(start);
  return places;
}

function describeFirstLine(lines: readonly string[], wanted: readonly string[]): string {
  const first = wanted.find((line) => line.trim() !== '');
  const places =
    first === undefined ? [] : lines.flatMap((line, i) => (line.trim() === first.trim() ? [i] : []));
  if (places.length === 0)
    return 'Nothing near it was found: read the file, or look for a part of it with grep.';
  return showPlaces(
    'Its first line is there, but what follows differs',
    lines,
    places.slice(0, PLACES + 1),
    wanted.length,
  );
}

function showPlaces(
  hint: string,
  lines: readonly string[],
  places: readonly number[],
  count: number,
): string {
  const [first = 0] = places;
  const numbers = places.slice(0, PLACES).map((place) => place + 1);
  const more = places.length > PLACES ? ' and more' : '';
  const shown = lines.slice(first, first + Math.min(count, SHOWN_LINES));
  const text = shown.map((line) => shortenLine(line, SHOWN_CHARS)).join('\n');
  const where = `${numbers.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')}${more}`;
  return `${hint}, at ${where}. From line ${first + 1} on the file says:\n${text}`;
}
