/** What scripts do over the workspace, and what their model reads of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { shellTools } from '../../durable/tools/shell/index.ts';
import type { Workspace } from '../../durable/workspace/index.ts';
import { fill, openWorkspace, textOf } from '../workspace/local.ts';
import { callOver } from './files-context.ts';
import { type Shell, shellOver } from './shell-context.ts';

let workspace: Workspace;
let shell: Shell;
beforeEach(() => {
  workspace = openWorkspace();
  shell = shellOver(workspace);
});

const read = (path: string): string => textOf(workspace.read(path).bytes);

describe('a script', () => {
  it.each([
    ['a pipe', 'printf "b\\na\\nb\\n" | sort | uniq -c', '   1 a\n   2 b\n'],
    ['a redirect', 'echo one > f; echo two >> f; cat < f', 'one\ntwo\n'],
    ['errors into the output', 'ls nope 2>&1 | cat', 'ls: nope: No such file or directory\n'],
    [
      'a pattern',
      'touch a.ts b.ts c.md; echo *.ts; for f in *.md; do echo "<$f>"; done',
      'a.ts b.ts\n<c.md>\n',
    ],
    [
      'a pattern over directories',
      'mkdir -p x/y; touch x/y/z.ts; shopt -s globstar; echo **/*.ts',
      'x/y/z.ts\n',
    ],
    ['a text in the script', 'n=5; cat <<EOF\n  a $((n+1))\n\tb\nEOF\ncat <<"X"\n$n\nX', '  a 6\n\tb\n$n\n'],
    ['quoting', `x="a  b"; echo $x "$x" '$x' \\$x; printf '%s|' "$x" c\\ d`, 'a b a  b $x $x\na  b|c d|'],
    ['Unicode', 'x=日本; echo "$x é 😀" | tee u | wc -c; cat u; echo ${#x}', '15\n日本 é 😀\n2\n'],
    [
      'functions and arrays',
      'f() { echo "$1-$#"; }; a=(x y); f "${a[@]}"; declare -A m; m[k]=v; echo ${m[k]}',
      'x-2\nv\n',
    ],
    [
      'substitution of processes',
      'diff <(echo a) <(echo a) && echo same; echo x | tee >(cat > f) ; cat f',
      'same\nx\nx\n',
    ],
    ['a loop over lines', 'seq 3 | while read -r n; do echo "n$n"; done', 'n1\nn2\nn3\n'],
    ['arithmetic and tests', '(( 2 ** 10 == 1024 )) && [[ abc =~ ^a.c$ ]] && echo $((7 / 2))', '3\n'],
    [
      'programs of text',
      `printf 'a 1\\nb 2\\n' | awk '{s+=$2} END{print s}'; echo '{"a":[1,2]}' | jq -c '.a|map(.+1)'`,
      '3\n[2,3]\n',
    ],
    ['a script in a file', `printf '#!/bin/bash\\necho "$1"\\n' > s.sh; ./s.sh hi; bash s.sh ho`, 'hi\nho\n'],
    ['nothing kept', 'echo x > /dev/null; cat /dev/null; which ls', '/usr/bin/ls\n'],
    [
      'the home and the directory of temporary files',
      'cd; pwd; cd /tmp && pwd; echo ~',
      '/workspace\n/tmp\n/workspace\n',
    ],
    ['counting files', 'touch a b c; ls a b c | wc -l; mkdir d; touch d/e; ls a d', '3\na\n\nd:\ne\n'],
  ])('has %s', async (_, command, out) => {
    expect(await shell(command)).toEqual({
      text: `${out.endsWith('\n') ? out : `${out}\n`}[exit status 0]`,
      error: undefined,
      status: 0,
    });
  });

  it('keeps bytes as they are', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    workspace.write('all', bytes);
    await shell(
      'cat all > a; cat < all > b; cp all c; cat all | tee d > e; base64 all | base64 -d > f; head -c 200 all > g; tail -c 56 all >> g',
    );
    for (const path of 'abcdefg') expect(workspace.read(path).bytes, path).toEqual(bytes);
  });

  it('keeps text that is Unicode only after its first pages', async () => {
    await shell(
      'x=$(printf "a%.0s" {1..9000}); echo "$x é" > f; echo "$x 日" > g; printf "\\ufeffx\\r\\n" > h; sed -i s/x/y/ h',
    );
    expect(read('f').slice(-3)).toBe(' é\n');
    expect(read('g').slice(-3)).toBe(' 日\n');
    expect(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(workspace.read('h').bytes)).toBe(
      '\ufeffy\r\n',
    );
  });

  it('shares its files with the file tools', async () => {
    const call = callOver(workspace);
    await call('write', { path: 'src/a.ts', content: 'let a = 1;\n' });
    expect((await shell('cat src/a.ts; echo "let b;" >> src/a.ts')).text).toBe('let a = 1;\n[exit status 0]');
    // The model has not seen what the shell made of it.
    expect((await call('edit', { path: 'src/a.ts', old: 'let b', new: 'let c' })).error).toBe('file_changed');
    expect((await call('read', { path: 'src/a.ts' })).text).toContain('2\tlet b;');
    await shell('mkdir -p out/deep; mv src/a.ts out/deep/b.ts; rm -r src');
    expect((await call('list', { path: '.', recursive: true })).text).toContain('out/deep/b.ts');
    expect((await call('read', { path: 'src/a.ts' })).error).toBe('file_not_found');
  });

  it('begins anew with each call, with the files kept', async () => {
    await shell('cd /tmp; export X=1; f() { echo f; }; echo kept > /tmp/t');
    expect((await shell('pwd; echo "[$X]"; f; cat /tmp/t')).text).toBe(
      'stdout:\n/workspace\n[]\nkept\nstderr:\nbash: f: command not found\n[exit status 0]',
    );
  });

  it('begins in the session’s working directory', async () => {
    const other = shellOver(openWorkspace('/srv/app'));
    expect((await other('pwd; echo x > f; ls /srv/app; echo $HOME')).text).toBe(
      '/srv/app\nf\n/srv/app\n[exit status 0]',
    );
  });

  it('sees nothing of the deployment', async () => {
    const { text } = await shell('env; set; cat /proc/self/environ; ls -a / /etc', {
      env: { KEY: 'a-secret-value' },
    });
    expect(text).not.toContain('secret');
    expect(text).toContain('HOME=/workspace');
  });
});

describe('the exit status', () => {
  it.each([
    ['true', 0],
    ['false', 1],
    ['exit 7', 7],
    ['grep x /dev/null', 1],
    ['nope', 127],
    ['(exit 3); echo $? >/dev/null; exit $?', 0],
    ['set -e; false; echo no', 1],
    ['set -o pipefail; false | true', 1],
    ['false | true', 0],
    ['echo "unclosed', 2],
    ['if', 2],
  ])('of %s is %i, no error of the tool', async (command, status) => {
    const answer = await shell(command);
    expect(answer).toMatchObject({ error: undefined, status });
    expect(answer.text.split('\n').at(-1)).toBe(`[exit status ${status}]`);
  });

  it('stands after both outputs, which are told apart', async () => {
    expect((await shell('echo out; echo err >&2; printf end; exit 2')).text).toBe(
      'stdout:\nout\nend\nstderr:\nerr\n[exit status 2]',
    );
    expect((await shell('echo err >&2')).text).toBe('stderr:\nerr\n[exit status 0]');
    expect((await shell(':')).text).toBe('[exit status 0]');
  });
});

describe('what there is not', () => {
  it.each([
    'curl https://example.com',
    'wget x',
    'git status',
    'node -e 1',
    'python3 -c 1',
    'npm i',
    'tar x',
    'gzip f',
    'sqlite3',
    'sudo ls',
    'ssh x',
  ])('is not found: %s', async (command) => {
    const name = command.split(' ')[0];
    expect(await shell(command)).toMatchObject({
      text: `stderr:\nbash: ${name}: command not found\n[exit status 127]`,
      status: 127,
    });
  });

  it('is refused in words: links, devices, a place for programs', async () => {
    fill(workspace, { a: 'kept', b: 'kept too' });
    expect((await shell('ln -sf a b; ln a c')).text).toBe(
      'stderr:\nln: there are no links here: copy or move the file\nln: there are no links here: copy or move the file\n[exit status 1]',
    );
    expect(read('b')).toBe('kept too');
    expect((await shell('head -c 4 /dev/urandom')).status).toBe(1);
    expect((await shell('echo 1 > /usr/bin/mine; echo no')).text).toContain('EROFS');
    expect((await shell('ls -t')).text).toContain('-t is not supported');
  });

  it('changes nothing where it is said so: modes and times', async () => {
    fill(workspace, { a: 'x' });
    const before = workspace.stat('a');
    expect((await shell('chmod 600 a; touch a; ls -l a | cut -c1-4; [ -x a ] && echo runs')).status).toBe(0);
    expect(workspace.stat('a')).toEqual(before);
  });
});

describe('the workspace’s bounds', () => {
  it('hold for a removal of everything', async () => {
    fill(workspace, { 'a/b': 'x', c: 'y' });
    expect((await shell('rm -rf /; echo $?; rm -rf /workspace . ..; echo $?')).text).toMatch(
      /^stdout:\n1\n1\nstderr:\nrm: "\/" holds the working directory/,
    );
    expect(read('c')).toBe('y');
    expect((await shell('rm -rf /workspace/* nope; echo $?; ls -a')).text).toContain('0\n');
    expect(workspace.totals().files).toBe(0);
    expect(workspace.stat('.')).not.toBeNull();
  });

  it('hold for paths that lead up', async () => {
    await shell('echo x > ../../../../../up; cd ../../..; pwd; cat ../../up');
    expect(read('/up')).toBe('x\n');
    expect((await shell('cat ../../../../etc/passwd /proc/1/environ ~root/x')).status).toBe(1);
  });

  it.each([
    ["$'a\\nb'", 'control character'],
    ['"$(printf \'a%.0s\' {1..300})"', 'over 255 bytes'],
    ['"$(printf \'a/%.0s\' {1..2500})"', 'over 1024 bytes'],
  ])('hold for a path that is not valid: %s', async (path, reason) => {
    const touched = await shell(`touch ${path}; echo "<$?>"`);
    expect(touched.text).toContain('<1>');
    const redirected = await shell(`echo kept; echo x > ${path}; echo no; echo no > f`);
    expect(redirected.status).toBe(1);
    expect(redirected.text).toContain(reason.startsWith('over 1024') ? 'too long' : reason);
    expect(redirected.text).toContain('kept');
    expect(redirected.text).not.toContain('no\n');
    expect(workspace.totals().files).toBe(0);
  });

  it('hold for a path of 5,000 characters', async () => {
    const long = `${'a/'.repeat(2_500)}b`;
    expect((await shell(`cat ${long}; echo "<$?>"; echo x > ${long}`)).text).toContain('<1>');
    expect(workspace.totals().files).toBe(0);
  });

  it('are told where a command leaves out the reason', async () => {
    workspace.write('large', new Uint8Array(15_999_999).fill(120));
    const { text, status } = await shell(
      'cp large copy; echo $?; echo kept; echo 12 >> copy; echo never; ls',
    );
    expect(text).toContain('0\nkept\n');
    expect(text).toContain('16000002 bytes; 16000000 are allowed; the script ended there');
    expect(text).not.toContain('never');
    expect(status).toBe(1);
    expect((await shell('wc -c large')).text).toContain(
      'workspace: large has 15999999 bytes; the shell reads files of up to 4000000',
    );
  });

  it('end a script at a redirect into what is no directory, with what it printed', async () => {
    fill(workspace, { f: 'x' });
    expect((await shell('echo kept; echo x > f/y; echo never; rm f')).text).toBe(
      "stdout:\nkept\nstderr:\nbash: ENOTDIR: not a directory, write '/workspace/f/y'; the script ended there\n[exit status 1]",
    );
    expect(read('f')).toBe('x');
    expect(
      (
        await shell(
          'cp f f/y; echo $?; mkdir f; mkdir d/e; mv f f/g; rmdir nope; mkdir full; touch full/x; rmdir full',
        )
      ).status,
    ).toBe(1);
  });
});

describe('the plugin', () => {
  it('guides in one section about habits, and names no other package’s tool', () => {
    expect(shellTools.sections).toEqual([
      { name: 'shell:guidance', order: 110, text: expect.stringContaining('exit status') },
    ]);
    const [tool] = shellTools.tools ?? [];
    expect(tool).toMatchObject({ name: 'bash' });
    expect(tool?.parallelSafe ?? false).toBe(false);
    expect(tool?.idempotent ?? false).toBe(false);
    const words = `${tool?.description} ${JSON.stringify(shellTools.sections)}`;
    expect(words).not.toMatch(/web_fetch|web_search|\bread_|\btodo\b/);
  });

  it.each([{ timeout_ms: 0 }, { timeout_ms: 120_001 }, { timeout_ms: 1.5 }, { timeout_ms: '5' }])(
    'refuses arguments that are not valid: %j',
    async (options) => {
      expect((await shell('true', options)).error).toBe('invalid_arguments');
    },
  );

  it('refuses a script that is empty or too long', async () => {
    expect((await shell('')).error).toBe('invalid_arguments');
    expect((await shell(`echo ${'a'.repeat(100_000)}`)).error).toBe('invalid_arguments');
    expect((await shell('# nothing')).text).toBe('[exit status 0]');
    expect((await shell(`cat <<E | wc -c\n${'a'.repeat(90_000)}\nE`)).text).toBe('90001\n[exit status 0]');
  });
});
