import { z } from 'zod';
import { fileChanged, fileNotRead } from '../../errors.ts';
import { encodeText, splitLines } from '../../workspace/text.ts';
import type { Workspace } from '../../workspace/types.ts';
import { defineTool } from '../types.ts';
import { countOf, pathText, wellFormedText } from './shapes.ts';

export const writeTool = defineTool({
  name: 'write',
  description:
    'Writes a whole text file into the workspace, with the directories that it stands in. To change a part of a file use ' +
    'edit. A file that is there already is replaced only if you have read it, or written it, as it is now; with ' +
    'overwrite it is replaced whatever is in it.',
  input: z.strictObject({
    path: pathText,
    content: wellFormedText.describe('The whole content, exactly'),
    overwrite: z.boolean().describe('Replace a file that you have not read').optional(),
  }),
  idempotent: true,
  run({ path, content, overwrite = false }, context) {
    const { workspace } = context;
    const before = workspace.stat(path);
    if (before?.kind === 'file' && !overwrite) requireKnown(workspace, before.path, before.version);
    const info = workspace.write(path, encodeText(content), { call: nameCall(context) });
    const size = `${countOf(splitLines(content).length, 'line')}, ${countOf(info.bytes, 'byte')}`;
    const what = before === null ? 'Made' : 'Wrote';
    return {
      content: [{ type: 'text', text: `${what} ${info.path}: ${size}.` }],
      facts: { path: info.path, version: info.version },
    };
  },
});

/** Throws `file_not_read` and `file_changed`. */
export function requireKnown(workspace: Workspace, path: string, version: number): void {
  const known = workspace.knowledge(path).version;
  if (known === version) return;
  if (known === 0) throw fileNotRead(`You have not read ${path} yet: read it first.`, { path });
  throw fileChanged(`${path} has been changed since you read it: read it again.`, {
    path,
    expected: known,
    version,
  });
}

/** Providers may count their calls anew in each request: with turn and step a call's name is its own. */
export function nameCall({ turn, step, call }: { turn: number; step: number; call: string }): string {
  return `${turn}.${step}.${call}`;
}
