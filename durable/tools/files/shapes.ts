/** What the file tools' arguments and answers share. */
import { Buffer } from 'node:buffer';
import { z } from 'zod';

/** UTF-8 bytes of one answer: under what would be moved into a file, so that each answer says itself how to go on. */
export const ANSWER_BYTES = 24 * 1024;

/** Of a line or a path: UTF-16 units. */
const SHOWN_CHARS = 2_000;

export const wellFormedText = z
  .string()
  .refine((text) => text.isWellFormed(), 'is no Unicode text: half of a surrogate pair stands alone');

export const pathText = z.string().describe('Absolute, or relative to the working directory');

/** As many lines as fit, in order. The first is always taken. */
export function fitLines(lines: readonly string[], bytes = ANSWER_BYTES): string[] {
  let size = 0;
  const over = lines.findIndex((line, i) => {
    size += Buffer.byteLength(line) + 1;
    return i > 0 && size > bytes;
  });
  return over < 0 ? [...lines] : lines.slice(0, over);
}

/** A line as it is shown, with a mark where it is longer than is shown. */
export function shortenLine(line: string, length = SHOWN_CHARS): string {
  if (line.length <= length) return line;
  const isPairCut = (line.codePointAt(length - 1) ?? 0) > 0xffff;
  const shown = line.slice(0, isPairCut ? length - 1 : length);
  return `${shown}[… ${line.length - shown.length} more characters in this line]`;
}

export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
