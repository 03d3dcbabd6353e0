/** Looks for a pattern in the lines of files, in slices of work with pauses between them. */
import { compileGlob } from './glob.ts';
import type { Matcher } from './matcher.ts';
import { relativeTo } from './paths.ts';
import { dropBom } from './text.ts';
import type { FileBatch, Workspace } from './types.ts';

/** Content in memory at once. */
const BATCH_BYTES = 4_000_000;
/** UTF-16 units that are tested at once; a longer line is searched in pieces of this length. */
const PIECE_LENGTH = 32_768;
/** Steps between two pauses, and a piece more: a tenth of a second as a rule, one at the worst. */
const SLICE_STEPS = 20_000_000;
/** Where a NUL makes a file binary: what other tools look at, too. */
const BINARY_BYTES = 8_000;

export interface Search {
  root: string;
  matcher: Matcher;
  /** Only files whose path under the root matches. */
  glob?: string;
  /** Matching lines, over all files. */
  limit: number;
  /** Lines before and after each. */
  context: number;
  /** Milliseconds since the epoch at which it stops with what it has. */
  deadline: number;
}

export interface FoundLine {
  line: number;
  text: string;
  /** Of the match in the text; null for a line of the context. */
  match: { start: number; end: number } | null;
}

export interface FoundFile {
  path: string;
  /** In order; a gap in the numbers is a gap in the file. */
  lines: FoundLine[];
}

export interface Found {
  files: FoundFile[];
  matches: number;
  searched: number;
  /** Passed over. */
  binary: number;
  hidden: number;
  /** Why it ended before the last file. */
  stopped: 'limit' | 'time' | null;
}

export interface SearchPorts {
  now: () => number;
  /** Lets others run, and the clock go on: it stands still in an object that computes. Throws where the call was stopped. */
  pause: () => Promise<void>;
}

/** Throws `file_not_found`, `invalid_arguments`, and what `pause` throws. */
export async function searchFiles(workspace: Workspace, search: Search, ports: SearchPorts): Promise<Found> {
  const found: Found = { files: [], matches: 0, searched: 0, binary: 0, hidden: 0, stopped: null };
  const root = workspace.resolve(search.root);
  const isWanted = search.glob === undefined ? null : compileGlob(search.glob);
  const meter = createMeter(search, ports);
  for (let after: string | null = ''; after !== null; ) {
    const batch: FileBatch = workspace.scan(root, BATCH_BYTES, after);
    for (const { info, bytes } of batch.files) {
      const path = info.path === root ? '' : relativeTo(info.path, root);
      if (path !== '' && !(isWanted ? isWanted(path) : !isHidden(path))) {
        if (isWanted === null) found.hidden++;
        continue;
      }
      if (isBinary(bytes)) {
        found.binary++;
        continue;
      }
      found.searched++;
      const file = await searchFile(info.path, bytes, search, found, meter);
      if (file.lines.length > 0) found.files.push(file);
      if (found.stopped !== null) return found;
    }
    after = batch.next;
    await ports.pause();
  }
  return found;
}

/** Whether a part of the path begins with a dot. */
function isHidden(path: string): boolean {
  return path.startsWith('.') || path.includes('/.');
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, BINARY_BYTES).includes(0);
}

type Meter = (steps: number) => Promise<boolean>;

/** Counts steps and pauses after each slice of them; says whether there is time left. */
function createMeter({ deadline }: Search, { now, pause }: SearchPorts): Meter {
  let steps = 0;
  return async (more) => {
    steps += more;
    if (steps < SLICE_STEPS) return true;
    steps = 0;
    await pause();
    return now() < deadline;
  };
}

async function searchFile(
  path: string,
  bytes: Uint8Array,
  search: Search,
  found: Found,
  meter: Meter,
): Promise<FoundFile> {
  const { matcher, limit, context } = search;
  const text = dropBom(new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes)).replaceAll(
    '\r\n',
    '\n',
  );
  const lines: FoundLine[] = [];
  for (const { first, text: piece } of cutPieces(text)) {
    if (!(await meter(piece.length * matcher.cost))) {
      found.stopped = 'time';
      break;
    }
    if (!matcher.test(piece)) continue;
    for (const [i, line] of piece.split('\n').entries()) {
      const match = matcher.find(line);
      // A line that is searched in pieces is found once.
      if (match === null || lines.at(-1)?.line === first + i) continue;
      if (found.matches === limit) {
        found.stopped = 'limit';
        break;
      }
      found.matches++;
      lines.push({ line: first + i, text: line, match });
    }
    if (found.stopped !== null) break;
  }
  return { path, lines: context > 0 && lines.length > 0 ? addContext(text, lines, context) : lines };
}

/** The text in pieces that end with a line where they can, without that line's end; `first` is their first line's number. */
function* cutPieces(text: string): Generator<{ first: number; text: string }> {
  let first = 1;
  for (let at = 0; at < text.length; ) {
    const wholeLines = text.lastIndexOf('\n', at + PIECE_LENGTH - 1);
    const isRest = text.length - at <= PIECE_LENGTH;
    const hasEnd = isRest ? text.endsWith('\n') : wholeLines >= at;
    const end = isRest ? text.length : hasEnd ? wholeLines + 1 : at + PIECE_LENGTH;
    const piece = text.slice(at, hasEnd ? end - 1 : end);
    yield { first, text: piece };
    first += countLineEnds(piece) + (hasEnd ? 1 : 0);
    at = end;
  }
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function addContext(text: string, matches: readonly FoundLine[], context: number): FoundLine[] {
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  const lines = new Map(matches.map((line) => [line.line, line]));
  for (const { line } of matches) {
    for (let at = Math.max(1, line - context); at <= Math.min(all.length, line + context); at++) {
      if (!lines.has(at)) lines.set(at, { line: at, text: all[at - 1] ?? '', match: null });
    }
  }
  return [...lines.values()].sort((a, b) => a.line - b.line);
}
