/** A shell over the session's files, for its model. */
import { z } from 'zod';
import type { Plugin } from '../../plugins.ts';
import { defineTool } from '../types.ts';
import { describeRun } from './describe-run.ts';
import { MAX_RUN_MS, MAX_SCRIPT_LENGTH, RUN_MS } from './limits.ts';
import { runScript } from './run-script.ts';

/** Of the loop, over the longest run: the run stops by itself and says what it had printed. */
const GRACE_MS = 10_000;

const bashTool = defineTool({
  name: 'bash',
  description: `Runs a bash script over the workspace's files, in the working directory, and returns what it printed \
and its exit status. Use it to count, sort, transform and compare what is in files, to move and copy many of them, and \
for arithmetic over lists. It is a shell of its own with the usual text commands (awk, sed, grep, find, sort, cut, tr, \
uniq, join, jq, diff, xargs, head, tail, wc, date, base64, sha256sum and their like; help lists them). Nothing else can be \
run: no compilers, interpreters, package managers, git, tar, gzip; and there is no network, no curl.
Each call is a new shell: files stay, but cd, variables and functions do not. Commands run one after another: & does not \
start anything in the background, and nobody answers a prompt. Links cannot be made; every file can be read, written and \
run, so chmod changes nothing; a file has the time of its last write, which touch does not change. A redirect makes the \
directories that it needs. A run ends after ${RUN_MS / 1_000} seconds, or timeout_ms, and after 10,000 commands; a \
variable, a pipe and the output of a command hold at most 1 MB, and a file that it reads 4 MB.`,
  input: z.strictObject({
    command: z.string().min(1).max(MAX_SCRIPT_LENGTH).describe('A command, or a script of many lines'),
    timeout_ms: z
      .int()
      .min(100)
      .max(MAX_RUN_MS)
      .describe(`Milliseconds that it may take; ${RUN_MS} where absent`)
      .optional(),
  }),
  timeoutMs: MAX_RUN_MS + GRACE_MS,
  async run({ command, timeout_ms: timeoutMs = RUN_MS }, { workspace, signal }) {
    const run = await runScript({ text: command, timeoutMs, workspace, signal });
    return {
      content: [{ type: 'text', text: describeRun(run, timeoutMs) }],
      facts: { exit_status: run.exitStatus },
    };
  },
});

export const shellTools: Plugin = {
  name: 'shell',
  tools: [bashTool],
  sections: [
    {
      name: 'shell:guidance',
      order: 110,
      text:
        'To look for, read or change files, take the tools made for that before the shell. After each use of the shell ' +
        'look at its exit status before you rely on what it did.',
    },
  ],
};
