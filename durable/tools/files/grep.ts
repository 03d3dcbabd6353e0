import { z } from 'zod';
import { fileNotFound } from '../../errors.ts';
import { compilePattern } from '../../workspace/matcher.ts';
import { type Found, type FoundLine, searchFiles } from '../../workspace/search.ts';
import type { Workspace } from '../../workspace/types.ts';
import { defineTool } from '../types.ts';
import { describeMissing } from './missing.ts';
import { ANSWER_BYTES, countOf, fitLines, pathText } from './shapes.ts';

/** Matching lines of one answer where the call does not say, and at most. */
const MATCHES = 100;
const MAX_MATCHES = 500;
const MAX_CONTEXT = 10;
/** After it the answer is what was found so far: a search of the largest workspace takes less on an ordinary day. */
const SEARCH_MS = 10_000;
/** UTF-16 units of a line that are shown, around its match. */
const SHOWN_CHARS = 300;

export const grepTool = defineTool({
  name: 'grep',
  description: `Looks for a regular expression (RE2 syntax: no look-around, no back-references), or with literal for a text \
as it is, in the lines of the workspace's files. Answers with paths, line numbers and lines; long lines are shown around the \
match. Binary files are passed over, and so are names that begin with a dot unless path or glob names them. It stops at the \
limit, or after ${SEARCH_MS / 1_000} seconds, and says so.`,
  input: z.strictObject({
    pattern: z.string(),
    path: pathText.default('.').describe('A directory or one file; the working directory where absent'),
    glob: z.string().describe('Only files whose path under path matches, such as `**/*.md`').optional(),
    literal: z.boolean().optional(),
    ignore_case: z.boolean().optional(),
    context: z.int().min(0).max(MAX_CONTEXT).describe('Lines to show before and after each match').optional(),
    limit: z
      .int()
      .min(1)
      .max(MAX_MATCHES)
      .describe(`Matching lines at most; ${MATCHES} where absent`)
      .optional(),
  }),
  parallelSafe: true,
  idempotent: true,
  timeoutMs: 3 * SEARCH_MS,
  async run(input, { workspace, now, signal }) {
    const { pattern, path, glob, literal = false, ignore_case: ignoreCase = false } = input;
    const { context = 0, limit = MATCHES } = input;
    const matcher = await compilePattern({ text: pattern, literal, ignoreCase });
    const root = findRoot(workspace, path);
    const found = await searchFiles(
      workspace,
      { root, matcher, ...(glob !== undefined && { glob }), limit, context, deadline: now() + SEARCH_MS },
      { now, pause: () => pauseUnless(signal) },
    );
    return showFound(found, limit);
  },
});

function findRoot(workspace: Workspace, path: string): string {
  return describeMissing(workspace, path, () => {
    const info = workspace.stat(path);
    if (info === null) throw fileNotFound(`There is no ${path}.`);
    return info.path;
  });
}

/** Lets everything else that waits have its turn first. */
async function pauseUnless(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  signal.throwIfAborted();
}

function showFound(found: Found, limit: number): string {
  const lines = found.files.flatMap((file) => [file.path, ...file.lines.map(showLine)]);
  const shown = fitLines(lines, ANSWER_BYTES);
  const isCut = shown.length < lines.length;
  const head =
    found.matches === 0
      ? `No match in ${countOf(found.searched, 'file')}.`
      : `${countOf(found.matches, 'matching line')} in ${countOf(found.files.length, 'file')}:`;
  const notes = [
    ...(isCut ? ['the rest of these lines does not fit: narrow the search'] : []),
    ...(found.stopped === 'limit' ? [`stopped at the limit of ${limit}: there are more`] : []),
    ...(found.stopped === 'time'
      ? [`stopped after ${SEARCH_MS / 1_000} seconds: not every file was searched`]
      : []),
    ...(found.binary > 0 ? [`${countOf(found.binary, 'binary file')} passed over`] : []),
    ...(found.hidden > 0 ? [`${countOf(found.hidden, 'file')} with a dot name passed over`] : []),
  ];
  return [head, ...shown, ...(notes.length > 0 ? [`[${notes.join('; ')}]`] : [])].join('\n');
}

/** `12: text` for a match, `12- text` for a line of its context. */
function showLine({ line, text, match }: FoundLine): string {
  return `${line}${match === null ? '-' : ':'} ${showAround(text, match ?? { start: 0, end: 0 })}`;
}

function showAround(text: string, { start, end }: { start: number; end: number }): string {
  if (text.length <= SHOWN_CHARS) return text;
  const spare = Math.max(0, SHOWN_CHARS - (end - start));
  const from = Math.max(0, Math.min(start - Math.floor(spare / 2), text.length - SHOWN_CHARS));
  const to = Math.min(text.length, from + SHOWN_CHARS);
  const before = from > 0 ? `[${from} characters …] ` : '';
  const behind = to < text.length ? ` [… ${text.length - to} characters]` : '';
  return `${before}${text.slice(from, to).toWellFormed()}${behind}`;
}
