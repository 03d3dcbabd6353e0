import { z } from 'zod';
import { invalidArguments } from '../../errors.ts';
import { decodeText, describeBinary, dropBom, splitLines } from '../../workspace/text.ts';
import { defineTool } from '../types.ts';
import { describeMissing } from './missing.ts';
import { ANSWER_BYTES, countOf, fitLines, pathText, shortenLine } from './shapes.ts';

/** Lines of one answer where the call does not say. */
const LINES = 2_000;

export const readTool = defineTool({
  name: 'read',
  description: `Reads a text file of the workspace, or a part of it. Each line comes with its number and a tab, which are \
no part of the file. At most ${LINES} lines and ${ANSWER_BYTES} bytes come at once; where there is more, the answer says with \
which offset to go on. A very long line is shortened with a mark. Of a file that is no UTF-8 text you get its kind and size.`,
  input: z.strictObject({
    path: pathText,
    offset: z.int().min(1).describe('The first line, from 1').optional(),
    limit: z.int().min(1).max(LINES).describe('Lines at most').optional(),
  }),
  parallelSafe: true,
  idempotent: true,
  run({ path, offset = 1, limit = LINES }, { workspace }) {
    const { info, bytes } = describeMissing(workspace, path, () => workspace.read(path));
    workspace.noteRead(info.path, info.version);
    const facts = { path: info.path, version: info.version };
    const text = decodeText(bytes);
    if (text === null) {
      const kind = `${info.path} is no text: ${describeBinary(bytes)}, ${countOf(bytes.length, 'byte')}.`;
      return { content: [{ type: 'text', text: kind }], facts };
    }
    const lines = splitLines(dropBom(text));
    if (offset > Math.max(lines.length, 1)) {
      throw invalidArguments(`offset: ${info.path} has ${countOf(lines.length, 'line')}.`);
    }
    const wanted = lines.slice(offset - 1, offset - 1 + limit);
    const shown = fitLines(wanted.map((line, i) => `${offset + i}\t${shortenLine(line)}`));
    const body = [
      describeFile(info.path, text, lines.length),
      ...shown,
      ...describeRest(offset, shown, lines),
    ];
    return { content: [{ type: 'text', text: body.join('\n') }], facts };
  },
});

function describeFile(path: string, text: string, lines: number): string {
  const traits = [lines === 0 ? 'empty' : countOf(lines, 'line')];
  if (text.includes('\r\n')) traits.push('CRLF line ends');
  if (dropBom(text) !== text) traits.push('byte order mark');
  if (lines > 0 && !text.endsWith('\n')) traits.push('no line end at the end');
  return `${path}: ${traits.join(', ')}`;
}

function describeRest(offset: number, shown: readonly string[], lines: readonly string[]): string[] {
  const next = offset + shown.length;
  const left = lines.length - next + 1;
  return left > 0 ? [`[${countOf(left, 'more line')}: go on with offset ${next}]`] : [];
}
