/** Results of tools that are too long to be read at once: kept whole as a file, shown as a preview. */
import { PerchError } from '../errors.ts';
import { sha256Hex } from '../storage/digest.ts';
import { encodeText, takeEnd, takeStart } from './text.ts';
import type { Workspace } from './types.ts';

/** UTF-8 bytes: about 8,000 tokens, what a model reads of one result without losing the thread. */
const SPILL_BYTES = 32 * 1024;
/** UTF-16 units that the preview shows of the start, and of the end. */
const HEAD_LENGTH = 6_000;
const TAIL_LENGTH = 2_000;
const RESULTS_FOLDER = '/workspace/.perch/results';
/** What a file name may be made of, so that a provider's call id leads nowhere else. */
const SAFE_NAME = /^[A-Za-z0-9_-]{1,100}$/;

/**
 * The text as it is where it is short; otherwise a preview of whole lines (of whole code points where a line is longer
 * than the preview) that says what is left out and in which file the whole is. The same call with the same text again
 * gives the same answer; with another text it gets a file beside the first. `limit` is in UTF-8 bytes. Where the file
 * cannot be kept the preview says that, and why. Throws nothing.
 */
export function spillResult(workspace: Workspace, call: string, text: string, limit = SPILL_BYTES): string {
  // A UTF-16 unit is at most three bytes: short texts need no encoding.
  if (text.length * 3 <= limit) return text;
  const bytes = encodeText(text);
  if (bytes.byteLength <= limit) return text;
  const head = takeLines(text, Math.min(HEAD_LENGTH, Math.floor(limit / 4)));
  const tail = takeLastLines(text.slice(head.length), Math.min(TAIL_LENGTH, Math.floor(limit / 16)));
  const left = text.length - head.length - tail.length;
  const place = keepWhole(workspace, call, bytes);
  const size = `The result is too long to be shown whole: ${bytes.byteLength} bytes, ${countLines(text)} lines.`;
  return `${size} ${place} Here are its beginning and its end.\n\n${head}\n[… ${left} characters left out …]\n${tail}`;
}

function keepWhole(workspace: Workspace, call: string, bytes: Uint8Array): string {
  const name = SAFE_NAME.test(call) ? call : sha256Hex(call).slice(0, 32);
  try {
    for (let n = 1; ; n++) {
      const path = `${RESULTS_FOLDER}/${name}${n === 1 ? '' : `-${n}`}.txt`;
      if (!isFree(workspace, path, bytes)) continue;
      workspace.write(path, bytes);
      return `The whole result is in ${path}.`;
    }
  } catch (error) {
    if (!(error instanceof PerchError)) throw error;
    return `The rest of it is lost, because it could not be kept as a file (${error.data.code}): ${error.data.detail}`;
  }
}

/** Providers count their calls anew in each request: a call's name may have been another's before. */
function isFree(workspace: Workspace, path: string, bytes: Uint8Array): boolean {
  const there = workspace.stat(path);
  if (there === null) return true;
  if (there.kind === 'directory' || there.bytes !== bytes.byteLength) return false;
  return sha256Hex(workspace.read(path).bytes) === sha256Hex(bytes);
}

function takeLines(text: string, length: number): string {
  const start = takeStart(text, length);
  const end = start.lastIndexOf('\n');
  return end < 0 ? start : start.slice(0, end + 1);
}

function takeLastLines(text: string, length: number): string {
  const end = takeEnd(text, length);
  if (end.length === text.length) return end;
  const first = end.indexOf('\n');
  return first < 0 || first === end.length - 1 ? end : end.slice(first + 1);
}

function countLines(text: string): number {
  let count = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
