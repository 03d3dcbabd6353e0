/** A run as its model reads it. Pure. */
import { takeEnd, takeStart } from '../../workspace/text.ts';
import { BRAKE_NAME, type Stop } from './brake.ts';
import { KEPT_LENGTH } from './limits.ts';
import type { Run } from './run-script.ts';

/** What the shell says of a script that the brake ended. */
const BRAKE_LINE = new RegExp(`^.*\\b${BRAKE_NAME}: work work limit exceeded.*\\n?`, 'gm');

/** What the output is called where there is more than one, and how the run ended, in the last line. */
export function describeRun({ stdout, stderr, exitStatus, stop, refusals }: Run, timeoutMs: number): string {
  const errors = tidyErrors(stderr, stop, refusals);
  const out = endLine(keepEnds(stdout, KEPT_LENGTH));
  const err = endLine(keepEnds(errors, KEPT_LENGTH / 4));
  const shown = err === '' ? out : `${out === '' ? '' : `stdout:\n${out}`}stderr:\n${err}`;
  const ending = stop?.kind === 'time' ? `: stopped after ${timeoutMs / 1_000} seconds` : '';
  return `${shown}[exit status ${exitStatus}${ending}]`;
}

/** Without advice that is for the shell's host, and with the reasons that its commands left out. */
function tidyErrors(stderr: string, stop: Stop | null, refusals: readonly string[]): string {
  const tidy = stderr
    .replaceAll(BRAKE_LINE, '')
    .replaceAll(/, increase executionLimits\.\w+/g, '')
    .replaceAll(/(: command not) available in browser environments\. .*/g, '$1 found');
  const ended =
    stop?.kind === 'refused' ? `bash: ${stop.message.replace(/\.$/, '')}; the script ended there\n` : '';
  const untold = [...new Set(refusals)].filter((reason) => !tidy.includes(reason) && !isEnding(stop, reason));
  return endLine(tidy) + ended + untold.map((reason) => `workspace: ${reason}\n`).join('');
}

function isEnding(stop: Stop | null, reason: string): boolean {
  return stop?.kind === 'refused' && stop.message.includes(reason);
}

function keepEnds(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = takeStart(text, Math.floor(length * 0.75));
  const tail = takeEnd(text, Math.floor(length * 0.25));
  return `${head}\n[… ${text.length - head.length - tail.length} characters of the output were not kept …]\n${tail}`;
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
