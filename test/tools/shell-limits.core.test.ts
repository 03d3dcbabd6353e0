/** Scripts that take more than they may have: each ends soon, says why, and leaves the session as it was. */
import { beforeEach, describe, expect, it } from 'vitest';
import { isWithinEdits } from '../../durable/tools/shell/edit-distance.ts';
import type { Workspace } from '../../durable/workspace/index.ts';
import { createRandom } from '../support/random.ts';
import { bytesOf, openWorkspace, textOf } from '../workspace/local.ts';
import { type Shell, shellOver } from './shell-context.ts';

/** Milliseconds: over what is measured, for a machine that does much else. */
const SOON = 15_000;

let workspace: Workspace;
let shell: Shell;
beforeEach(() => {
  workspace = openWorkspace();
  shell = shellOver(workspace);
});

describe('without end', { timeout: 60_000 }, () => {
  it.each([
    ['a fork bomb', ':(){ :|:& };:', 'maximum recursion depth (100) exceeded'],
    ['a function that calls itself', 'f() { f; }; f', 'maximum recursion depth (100) exceeded'],
    [
      'a script that runs itself',
      'echo "bash r.sh" > r.sh; bash r.sh',
      'maximum nested execution depth (32) exceeded',
    ],
    ['a script that reads itself', 'echo ". ./s.sh" > s.sh; . ./s.sh', 'maximum nesting depth (32) exceeded'],
    ['a text that is evaluated again', `g='eval "$g"'; eval "$g"`, 'too many commands executed (>10000)'],
    ['an empty loop', 'while true; do :; done', 'too many commands executed (>10000)'],
    ['a loop of arithmetic', 'for ((;;)); do ((i++)); done', 'too many commands executed (>10000)'],
    ['a loop that prints', 'while true; do echo y; done', 'too many commands executed (>10000)'],
    ['yes', 'yes() { while :; do echo y; done; }; yes | head -3', 'too many commands executed (>10000)'],
    ['a loop that writes nowhere', 'while :; do : > /dev/null; done', 'too many commands executed (>10000)'],
    ['a loop in awk', "awk 'BEGIN{while(1){}}'", 'exceeded maximum iterations'],
    ['output of awk', `awk 'BEGIN{while(1) print "xxxxxxxxxx"}'`, 'awk: its output has over 1000000 bytes'],
    ['a loop in sed', "echo a | sed ':a;s/a/aa/;ba'", 'exceeded maximum iterations'],
    ['a range in jq', "jq -n '[range(100000000)]|length'", 'limit exceeded'],
    ['a loop in jq', "jq -n 'def f: f; f'", 'limit exceeded'],
    ['numbers', 'seq 100000000 | tail -1', 'iteration limit exceeded'],
    ['a range that the shell would cut', 'for i in {1..10001}; do :; done', 'brace expansion'],
    ['a product of choices', 'echo {1..99}{1..99}{1..99}', 'brace expansion'],
    [
      'a variable that doubles',
      'x=abc; while true; do x=$x$x; done',
      'string length limit exceeded (1000000 bytes)',
    ],
    ['a wide format', "printf '%1000000000d' 1", 'limit exceeded'],
    ['a power', 'echo $((2**100000)); a=1; while :; do a=$((a*3)) || break; done', 'syntax error'],
    ['brackets', `${'('.repeat(500)}echo${')'.repeat(500)}`, 'nesting depth'],
    ['substitutions', `echo ${'$('.repeat(200)}echo${')'.repeat(200)}`, 'nesting limit exceeded'],
    ['arithmetic in brackets', `echo $((${'('.repeat(5_000)}1${')'.repeat(5_000)}))`, 'nesting depth'],
  ])('%s ends', async (_, command, reason) => {
    const begun = performance.now();
    const { text, error, status } = await shell(command);
    expect(text).toContain(reason);
    expect(text).not.toContain('executionLimits');
    expect(error).toBeUndefined();
    expect([1, 2, 5, 126]).toContain(status);
    expect(performance.now() - begun).toBeLessThan(SOON);
    expect((await shell('echo well')).text).toBe('well\n[exit status 0]');
  });

  it.each([
    '[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! =~ ^(a+)+$ ]]',
    'echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -E "^(a|aa)+$"',
    'echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | sed -E "/^(a*)*$/!d"',
    'case aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab in *a*a*a*a*a*a*a*a*a*a*a*a*c) ;; *) false;; esac',
    'x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab; [ "${x##*a*a*a*a*a*a*a*a*a*a*c}" = none ]',
  ])('a pattern of the worst kind does not: %s', async (command) => {
    const begun = performance.now();
    expect((await shell(command)).status).toBeLessThan(2);
    expect(performance.now() - begun).toBeLessThan(SOON);
  });
});

describe('the time limit', { timeout: 60_000 }, () => {
  it.each([
    ['of a pause', 'echo kept; sleep 60; echo never', 'kept\n'],
    ['of pauses', 'echo kept; while true; do sleep 0.01; done', 'kept\n'],
    ['of a loop over files', 'echo kept; while true; do echo x >> f; cat f > g; done', 'kept\n'],
    ['of a pipe', 'echo kept; sleep 60 | sleep 60 | cat', 'kept\n'],
  ])('%s ends the script, and what it printed stays', async (_, command, out) => {
    const begun = performance.now();
    const { text, error, status } = await shell(command, { timeout_ms: 200 });
    expect(text).toBe(`${out}[exit status 124: stopped after 0.2 seconds]`);
    expect(error).toBeUndefined();
    expect(status).toBe(124);
    expect(performance.now() - begun).toBeLessThan(SOON);
  });

  it('leaves a script alone that ends in time, and its own limits too', async () => {
    expect(
      (await shell('timeout 0.05 sleep 5; echo $?; sleep 0.01; echo end', { timeout_ms: 10_000 })).text,
    ).toBe('124\nend\n[exit status 0]');
  });
});

describe('a cancel', { timeout: 60_000 }, () => {
  it.each([
    'while true; do i=$((i+1)); echo $i > n; sleep 0.005; done',
    'sleep 60',
    'while true; do echo x >> n; done',
  ])('ends %s, and nothing is written after it', async (command) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('cancelled')), 100);
    expect((await shell(command, { signal: controller.signal })).error).toBe('aborted');
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = workspace.stat('n')?.version;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(workspace.stat('n')?.version).toBe(before);
  });

  it('before the first command runs none', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));
    expect((await shell('echo x > f', { signal })).error).toBe('aborted');
    expect(workspace.stat('f')).toBeNull();
  });
});

describe('much output', { timeout: 60_000 }, () => {
  it('is kept as a file, with a preview that shows the exit status', async () => {
    const { text } = await shell('seq 1 20000; exit 3');
    expect(text.split('\n').at(-1)).toBe('[exit status 3]');
    const path = /\/workspace\/\.perch\/results\/\S+\.txt/.exec(text)?.[0] ?? '';
    const whole = textOf(workspace.read(path).bytes);
    expect(whole.startsWith('1\n2\n')).toBe(true);
    expect(whole.endsWith('\n20000\n[exit status 3]')).toBe(true);
    expect(text.length).toBeLessThan(20_000);
  });

  it('of 10 MB ends the script, and 1 MB of it is kept', async () => {
    workspace.write('line', bytesOf(`${'x'.repeat(99_999)}\n`));
    const { text, status } = await shell('echo begin; for i in {1..100}; do cat line; done; echo end');
    expect(status).toBe(126);
    const path = /\/workspace\/\.perch\/results\/\S+\.txt/.exec(text)?.[0] ?? '';
    const whole = textOf(workspace.read(path).bytes);
    expect(whole.length).toBeGreaterThan(1_000_000);
    expect(whole.length).toBeLessThan(1_100_000);
    expect(whole).toContain('characters of the output were not kept');
    expect(whole).toContain('total output size exceeded (>8000000 bytes)');
    expect(whole.startsWith('stdout:\nbegin\n')).toBe(true);
  });

  it.each([
    ['sort', 'sort big | tail -1; echo never'],
    ['cat', 'cat big > copy; echo never'],
    ['tac', 'tac big > copy; echo never'],
  ])('of one command, %s, ends the script', async (_, command) => {
    workspace.write('big', bytesOf('0123456789\n'.repeat(100_000)));
    const { text, status } = await shell(command);
    expect([1, 126]).toContain(status);
    expect(text).toContain('1000000 bytes');
    expect(text).not.toContain('never');
  });

  it('is counted over all files that a script writes', async () => {
    workspace.write('mb', bytesOf('x'.repeat(900_000)));
    expect((await shell('for i in {1..50}; do cat mb > f$i; done')).text).toContain(
      'total output size exceeded',
    );
    expect(workspace.totals().bytes).toBeLessThan(12_000_000);
    expect((await shell('for i in {1..300}; do cp mb c$i; done; echo end')).text).toMatch(
      /The workspace may have 256000000 bytes/,
    );
  });
});

describe('diff', { timeout: 60_000 }, () => {
  it('refuses files with too many differences, and shows few in large ones', async () => {
    expect(
      (
        await shell(
          'seq 20000 > a; tac a > b; diff a b; echo $?; sed s/^77$/x/ a > c; diff a c | grep "^[-+]"; diff -q a c; diff a a && echo same',
        )
      ).text,
    ).toBe(
      'stdout:\n2\n--- a\t\n+++ c\t\n-77\n+x\nFiles a and c differ\nsame\nstderr:\ndiff: a and b differ by over 2000 lines: too much to compare\n[exit status 0]',
    );
  });

  it('counts edits as the longest common subsequence says', () => {
    const random = createRandom(7);
    const pick = () => Array.from({ length: random.below(12) }, () => String(random.below(3)));
    for (let i = 0; i < 3_000; i++) {
      const [a, b] = [pick(), pick()];
      const edits = a.length + b.length - 2 * measureCommon(a, b);
      expect(isWithinEdits(a, b, edits), `${a} ${b}`).toBe(true);
      if (edits > 0) expect(isWithinEdits(a, b, edits - 1), `${a} ${b}`).toBe(false);
    }
  });
});

function measureCommon([a, ...as]: string[], [b, ...bs]: string[]): number {
  let row = new Array<number>(bs.length + 2).fill(0);
  if (a === undefined || b === undefined) return 0;
  for (const left of [a, ...as]) {
    const next = [0];
    for (const [i, right] of [b, ...bs].entries()) {
      next.push(left === right ? (row[i] ?? 0) + 1 : Math.max(row[i + 1] ?? 0, next[i] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
