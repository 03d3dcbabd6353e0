/** Files as text: what is text, and what the rest is. */
import { Buffer, isUtf8 } from 'node:buffer';

const BOM = '\ufeff';

/**
 * The file's text, its byte order mark included; null where it is none: ill-formed UTF-8, or a NUL in it. Encoding the
 * text again gives the same bytes.
 */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0) || !isUtf8(bytes)) return null;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

export function encodeText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function dropBom(text: string): string {
  return text.startsWith(BOM) ? text.slice(BOM.length) : text;
}

/** Without their ends; a line end at the end of the text begins no further line. */
export function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** How many lines begin before a place in the text, itself included: the number of the line there, from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** At most so many UTF-16 units from the start, whole code points. */
export function takeStart(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, isPairCut(text, length) ? length - 1 : length);
}

/** At most so many UTF-16 units from the end, whole code points. */
export function takeEnd(text: string, length: number): string {
  if (text.length <= length) return text;
  const at = text.length - length;
  return text.slice(isPairCut(text, at) ? at + 1 : at);
}

function isPairCut(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** First bytes of formats that people keep beside text. */
const FORMATS: readonly [string, readonly number[]][] = [
  ['a PNG image', [0x89, 0x50, 0x4e, 0x47]],
  ['a JPEG image', [0xff, 0xd8, 0xff]],
  ['a GIF image', [0x47, 0x49, 0x46, 0x38]],
  ['a PDF document', [0x25, 0x50, 0x44, 0x46]],
  ['a zip archive or an office document', [0x50, 0x4b, 0x03, 0x04]],
  ['a gzip file', [0x1f, 0x8b]],
  ['a WebAssembly module', [0x00, 0x61, 0x73, 0x6d]],
  ['an ELF program', [0x7f, 0x45, 0x4c, 0x46]],
  ['an SQLite database', [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65]],
  ['UTF-16 text', [0xff, 0xfe]],
  ['UTF-16 text', [0xfe, 0xff]],
];

/** Of bytes that are no text: what they look like. */
export function describeBinary(bytes: Uint8Array): string {
  const known = FORMATS.find(([, start]) => start.every((byte, i) => bytes[i] === byte));
  if (known !== undefined) return known[0];
  return bytes.includes(0) ? 'binary data' : 'text in another encoding than UTF-8, or binary data';
}
