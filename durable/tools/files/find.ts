/** The tools that find files: by directory and by name. */
import { z } from 'zod';
import type { FileInfo } from '../../workspace/types.ts';
import { defineTool } from '../types.ts';
import { describeMissing } from './missing.ts';
import { countOf, fitLines, pathText } from './shapes.ts';

/** Entries of one answer where the call does not say, and at most. */
const ENTRIES = 200;
const MAX_ENTRIES = 1_000;

const limit = z.int().min(1).max(MAX_ENTRIES).describe(`At most; ${ENTRIES} where absent`).optional();
const after = z.string().describe('Go on after this path').optional();

export const listTool = defineTool({
  name: 'list',
  description:
    'Lists what is in a directory of the workspace: files with their size in bytes, directories with a slash. With ' +
    'recursive, everything under it. Names that begin with a dot are listed, too. Where there is more than fits, the ' +
    'answer says how to go on.',
  input: z.strictObject({
    path: pathText.default('.').describe('The working directory where absent'),
    recursive: z.boolean().optional(),
    limit,
    after,
  }),
  parallelSafe: true,
  idempotent: true,
  run({ path, recursive = false, limit: most = ENTRIES, after: last }, { workspace }) {
    const root = workspace.resolve(path);
    const options = { recursive, limit: most, ...(last !== undefined && { after: workspace.resolve(last) }) };
    const page = describeMissing(workspace, path, () => workspace.list(root, options));
    const prefix = root === '/' ? '/' : `${root}/`;
    const lines = page.files.map(
      (file) => file.path.slice(prefix.length) + (file.kind === 'directory' ? '/' : `  ${file.bytes}`),
    );
    if (lines.length === 0) return `${root} ${last === undefined ? 'is empty' : 'has nothing more'}.`;
    return showPage(`${prefix} (paths under it, sizes in bytes)`, lines, page);
  },
});

export const globTool = defineTool({
  name: 'glob',
  description:
    'Finds files of the workspace by a pattern over their paths, such as `**/*.ts` or `src/**/{index,main}.js`. `*` and `?` ' +
    'stay inside a name, `**` is any number of directories, `[a-z]` is one character, `{a,b}` a choice. A name that begins ' +
    'with a dot is found only if the pattern says the dot, as in `.github/**`. Use it to find files by name; use grep to ' +
    'find them by what is in them.',
  input: z.strictObject({
    pattern: z.string().describe('Relative to path'),
    path: pathText.default('.').describe('The directory to look in; the working directory where absent'),
    limit,
    after,
  }),
  parallelSafe: true,
  idempotent: true,
  run({ pattern, path, limit: most = ENTRIES, after: last }, { workspace }) {
    const from = last === undefined ? undefined : workspace.resolve(last);
    const page = describeMissing(workspace, path, () => workspace.glob(pattern, path, most, from));
    if (page.files.length === 0) {
      return `No file${last === undefined ? '' : ' more'} under ${workspace.resolve(path)} matches ${pattern}.`;
    }
    return showPage(
      null,
      page.files.map((file) => file.path),
      page,
    );
  },
});

function showPage(
  title: string | null,
  lines: readonly string[],
  { files, next }: { files: readonly FileInfo[]; next: string | null },
): string {
  const shown = fitLines(lines);
  const last = shown.length < lines.length ? files[shown.length - 1]?.path : (next ?? undefined);
  return [
    ...(title === null ? [] : [title]),
    ...shown,
    ...(last === undefined
      ? []
      : [
          `[${countOf(shown.length, 'entry', 'entries')}; there are more: go on with after ${JSON.stringify(last)}]`,
        ]),
  ].join('\n');
}
