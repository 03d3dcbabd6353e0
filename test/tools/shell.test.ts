/** The shell in the runtime that serves people, over the database of a real object. */
import { describe, expect, it } from 'vitest';
import { openObject } from '../workspace/object.ts';
import { shellOver } from './shell-context.ts';

const { within } = await openObject();

/** Milliseconds. The clock of an object stands still while it computes, so both looks at it follow a pause. */
async function time<T>(run: () => Promise<T>): Promise<{ ms: number; value: T }> {
  await pause();
  const begun = Date.now();
  const value = await run();
  await pause();
  return { ms: Date.now() - begun, value };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

describe('in workerd, a script', { timeout: 120_000 }, () => {
  it('costs little, and its first use not much', async () => {
    const measured = await within(async (workspace) => {
      const shell = shellOver(workspace);
      const of = async (command: string, times = 1) => {
        const { ms } = await time(async () => {
          for (let i = 0; i < times; i++) expect((await shell(command)).status, command).toBe(0);
        });
        return ms / times;
      };
      return {
        'first use': await of('echo hello'),
        echo: await of('echo hello', 50),
        'three commands': await of('printf "b\\na\\n" | sort | wc -l', 50),
        'write and read': await of('echo x > f; cat f', 50),
        '100 files': await of('mkdir -p d; for i in {1..100}; do echo $i > d/$i; done'),
        'grep 100 files': await of('grep -rl 7 d | wc -l', 5),
        'awk over 10,000 lines': await of("seq 10000 | awk '{s+=$1} END{print s}'", 3),
        '1,000 appends': await of('for i in {1..1000}; do echo $i >> log; done'),
        'sort 10,000 lines': await of('seq 10000 | sort -r | tail -1', 3),
      };
    });
    console.log('SHELL', JSON.stringify(measured));
    for (const [name, ms] of Object.entries(measured)) expect(ms, name).toBeLessThan(20_000);
  });

  it('reads and writes the session’s files, byte for byte', async () => {
    await within(async (workspace) => {
      const shell = shellOver(workspace);
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      workspace.write('all', bytes);
      const answer = await shell(
        'cat all > b; cat < all | base64 | base64 -d > c; diff <(echo é) <(echo é) && sha256sum b | cut -c1-8',
      );
      expect(answer.text).toBe('40aff2e9\n[exit status 0]');
      expect(workspace.read('b').bytes).toEqual(bytes);
      expect(workspace.read('c').bytes).toEqual(bytes);
      expect((await shell('rm -rf / ; echo $?; jq -n 1; curl x; exit 4')).text).toMatch(
        /^stdout:\n1\n1\nstderr:\n.*\[exit status 4\]$/s,
      );
    });
  });

  it.each([
    ':(){ :|:& };:',
    'f() { f; }; f',
    'echo "bash r.sh" > r.sh; bash r.sh',
    'while true; do :; done',
    'while true; do echo y; done',
    'yes() { while :; do echo y; done; }; yes | head',
    'x=abc; while true; do x=$x$x; done',
    "awk 'BEGIN{while(1){}}'",
    "echo a | sed ':a;s/a/aa/;ba'",
    "jq -n 'def f: f; f'",
    `${'('.repeat(5_000)}echo${')'.repeat(5_000)}`,
    `echo ${'$('.repeat(500)}echo${')'.repeat(500)}`,
    `echo $((${'('.repeat(5_000)}1${')'.repeat(5_000)}))`,
    `awk 'BEGIN{print ${'('.repeat(5_000)}1${')'.repeat(5_000)}}'`,
    `jq -n '${'['.repeat(5_000)}1${']'.repeat(5_000)}'`,
    `echo '${'['.repeat(5_000)}1${']'.repeat(5_000)}' | jq .`,
    `[[ ${'('.repeat(3_000)} a ${')'.repeat(3_000)} ]]`,
    `echo a | grep -E '${'('.repeat(3_000)}a${')'.repeat(3_000)}'; false`,
    `x=${'${x:-'.repeat(3_000)}${'}'.repeat(3_000)}; false`,
    'while true; do cat big; done',
  ])('without end ends, and the object goes on: %#', async (command) => {
    await within(async (workspace) => {
      const shell = shellOver(workspace);
      workspace.write('big', new Uint8Array(900_000).fill(120));
      const { value, ms } = await time(() => shell(command));
      console.log('ENDED', command.slice(0, 40), ms, value.status, JSON.stringify(value.text.slice(-150)));
      expect(value.error).toBeUndefined();
      expect(value.status).not.toBe(0);
      expect(ms).toBeLessThan(20_000);
      expect((await shell('echo well')).text).toBe('well\n[exit status 0]');
    });
  });

  it('is stopped by its time limit and by a cancel', async () => {
    await within(async (workspace) => {
      const shell = shellOver(workspace);
      const limited = await shell('echo kept; while true; do echo x >> f; done', { timeout_ms: 200 });
      expect(limited.text).toBe('kept\n[exit status 124: stopped after 0.2 seconds]');
      expect((await shell('echo kept; sleep 60', { timeout_ms: 200 })).status).toBe(124);
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('cancelled')), 100);
      const cancelled = await shell('while true; do echo x >> g; sleep 0.001; done', {
        signal: controller.signal,
      });
      expect(cancelled.error).toBe('aborted');
      await new Promise((resolve) => setTimeout(resolve, 50));
      const before = workspace.stat('g')?.version;
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(workspace.stat('g')?.version).toBe(before);
    });
  });
});
