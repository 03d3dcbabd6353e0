/**
 * What one run of the shell may use up. The object's clock stands still while it computes, and nobody interrupts it: so
 * what computes without end is stopped by counting, and only what waits or touches files by the time. The figures leave
 * room for honest scripts; what they stop ends within a second or two.
 */
import type { BashOptions } from 'just-bash/browser';

/** Milliseconds of a run where the call does not say, and at most. */
export const RUN_MS = 30_000;
export const MAX_RUN_MS = 120_000;
/** UTF-16 units of a script. */
export const MAX_SCRIPT_LENGTH = 100_000;
/** UTF-16 units of a run's output that are kept. */
export const KEPT_LENGTH = 1_000_000;
/**
 * Of one text: a variable, a pipe, a command's output. An object has 128 MB, and a pipeline holds a handful of copies and
 * lists of lines: with a text of 1 MB a sort, `uniq` and a second sort needed 30 MB, with 2 MB 70.
 */
export const MAX_TEXT_BYTES = 1_000_000;
/** Of one file that a command reads: the hungriest of them need twenty times as much memory. */
export const MAX_READ_BYTES = 4_000_000;
/** Over a whole run, what goes into files included. */
const MAX_OUTPUT_BYTES = 8_000_000;
const MAX_INPUT_BYTES = 64_000_000;

export function limitRun(ms: number): NonNullable<BashOptions['executionLimits']> {
  return {
    maxSourceBytes: 4 * MAX_SCRIPT_LENGTH,
    maxExecutionTimeMs: ms,
    maxExtensionCleanupTimeMs: 25,
    // An endless loop ends after 0.1 s, one of commands that are no builtins after 1 s.
    maxCommandCount: 10_000,
    // Of loops, which the commands limit first, and of what some commands count: the numbers of `seq`, for one.
    maxLoopIterations: 100_000,
    // Each is run through in about a second.
    maxAwkIterations: 500_000,
    maxSedIterations: 30_000,
    maxJqIterations: 1_000_000,
    maxWorkUnits: 10_000_000,
    maxCallDepth: 100,
    maxExecDepth: 32,
    maxSourceDepth: 32,
    maxSubstitutionDepth: 32,
    maxTraversalDepth: 256,
    // Deeper than these the stack of the platform ends first.
    maxQueryDepth: 256,
    maxAwkParserDepth: 128,
    maxTraversalEntries: 100_000,
    maxTraversalWork: 100_000,
    maxGlobOperations: 100_000,
    maxArrayElements: 100_000,
    // The shell cuts a range of numbers at 10,000 without a word; each takes two of these, so it fails instead.
    maxBraceExpansionResults: 19_999,
    maxFileDescriptors: 256,
    maxStringLength: MAX_TEXT_BYTES,
    maxHeredocSize: MAX_TEXT_BYTES,
    maxOutputSize: MAX_OUTPUT_BYTES,
    maxInputBytes: MAX_INPUT_BYTES,
    maxLiveBytes: 32_000_000,
  };
}
