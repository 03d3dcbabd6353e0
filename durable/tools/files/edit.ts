import { z } from 'zod';
import {
  editAmbiguous,
  editNotFound,
  fileTooLarge,
  invalidArguments,
  notText,
  type PerchError,
} from '../../errors.ts';
import { MAX_FILE_BYTES } from '../../workspace/index.ts';
import { decodeText, describeBinary, encodeText, lineAt } from '../../workspace/text.ts';
import { defineTool, type ToolOutput } from '../types.ts';
import { describeMissing } from './missing.ts';
import { describeNearMiss } from './near-miss.ts';
import { countOf, pathText, wellFormedText } from './shapes.ts';
import { nameCall, requireKnown } from './write.ts';

/** Lines that an answer names. */
const SHOWN_LINES = 10;

export const editTool = defineTool({
  name: 'edit',
  description:
    'Replaces a piece of a text file in the workspace. `old` is looked for exactly as it is, white space included, ' +
    'without the line numbers that read shows; it has to be there once, or any number of times with `all`. Give as many ' +
    'lines around the change as make it unique. Line ends and a byte order mark of the file are kept: write line ends as ' +
    'plain newlines. You must have read the file, and it is refused if it has been changed since.',
  input: z.strictObject({
    path: pathText,
    old: wellFormedText.min(1).describe('What is there now'),
    new: wellFormedText.describe('What takes its place; empty to delete'),
    all: z.boolean().describe('Replace every occurrence').optional(),
  }),
  // A second run finds the file written by this very call and leaves it alone.
  idempotent: true,
  run({ path, old, new: replacement, all = false }, context) {
    const { workspace } = context;
    if (old === replacement) throw invalidArguments('old and new are the same: there is nothing to change.');
    const { info, bytes } = describeMissing(workspace, path, () => workspace.read(path));
    const call = nameCall(context);
    if (workspace.knowledge(info.path).call === call) return describeDone(info.path, info.version);
    const text = decodeText(bytes);
    if (text === null) {
      throw notText(`${info.path} is no UTF-8 text (${describeBinary(bytes)}): it cannot be edited.`, {
        path: info.path,
      });
    }
    requireKnown(workspace, info.path, info.version);
    const change = matchLineEnds(text, old, replacement);
    const places = findPlaces(text, change.old, all);
    if (places.length === 0) throw describeMiss(info.path, text, change.old);
    if (places.length > 1 && !all) throw describeAmbiguity(info.path, text, places);
    const length = text.length + places.length * (change.new.length - change.old.length);
    if (length > MAX_FILE_BYTES) {
      const detail = `${info.path} would have over ${MAX_FILE_BYTES} bytes.`;
      throw fileTooLarge(detail, { path: info.path, limit_bytes: MAX_FILE_BYTES });
    }
    const edited = encodeText(text.split(change.old).join(change.new));
    const written = workspace.write(info.path, edited, { ifVersion: info.version, call });
    const where = nameLines(text, places);
    return {
      content: [
        { type: 'text', text: `Replaced ${countOf(places.length, 'piece')} of ${info.path}, at ${where}.` },
      ],
      facts: { path: info.path, version: written.version },
    };
  },
});

function describeDone(path: string, version: number): ToolOutput {
  return {
    content: [{ type: 'text', text: `${path} has been changed by this call.` }],
    facts: { path, version },
  };
}

/** What is asked for with the file's own line ends, where it has one kind. In a mixed file the first form that is there. */
function matchLineEnds(text: string, old: string, replacement: string): { old: string; new: string } {
  const plain = { old: toLf(old), new: toLf(replacement) };
  const dos = { old: toCrlf(old), new: toCrlf(replacement) };
  if (!text.includes('\r\n')) return text.includes(old) ? { old, new: replacement } : plain;
  if (!/(?<!\r)\n/.test(text)) return dos;
  const asIs = { old, new: replacement };
  return [asIs, dos, plain].find((change) => text.includes(change.old)) ?? asIs;
}

function toLf(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function toCrlf(text: string): string {
  return toLf(text).replaceAll('\n', '\r\n');
}

/** With `all`, places that do not overlap; otherwise every place, since each could be meant. */
function findPlaces(text: string, old: string, all: boolean): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + (all ? old.length : 1)))
    places.push(at);
  return places;
}

function describeMiss(path: string, text: string, old: string): PerchError {
  return editNotFound(`${path} does not contain old. ${describeNearMiss(text, old)}`, { path, matches: 0 });
}

function describeAmbiguity(path: string, text: string, places: readonly number[]): PerchError {
  const where = nameLines(text, places);
  return editAmbiguous(
    `${path} contains old ${places.length} times, at ${where}. Add lines around it until it is unique, or set all.`,
    { path, matches: places.length },
  );
}

function nameLines(text: string, places: readonly number[]): string {
  const shown = places.slice(0, SHOWN_LINES).map((place) => lineAt(text, place));
  const more = places.length > shown.length ? ` and ${places.length - shown.length} more` : '';
  return `${shown.length === 1 ? 'line' : 'lines'} ${shown.join(', ')}${more}`;
}
