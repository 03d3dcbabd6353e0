import { describe, expect, it } from 'vitest';
import { spillResult } from '../../durable/workspace/index.ts';
import { MAX_WORKSPACE_BYTES } from '../../durable/workspace/tables.ts';
import { bytesOf, openLocal, openWorkspace, textOf } from './local.ts';

const FOLDER = '/workspace/.perch/results';

describe('a result', () => {
  it.each(['', 'short', 'x'.repeat(32 * 1024), '日'.repeat(10_922)])(
    'within the limit stays as it is',
    (text) => {
      const workspace = openWorkspace();
      expect(spillResult(workspace, 'c', text)).toBe(text);
      expect(workspace.totals().files).toBe(0);
    },
  );

  it('over the limit is kept whole, with a preview of whole lines and the path', () => {
    const workspace = openWorkspace();
    const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i + 1} of the result`);
    const text = lines.join('\n');
    const shown = spillResult(workspace, 'call_1', text);
    expect(textOf(workspace.read(`${FOLDER}/call_1.txt`).bytes)).toBe(text);
    expect(shown).toContain(`${FOLDER}/call_1.txt`);
    expect(shown).toContain(`${text.length} bytes, 5000 lines`);
    expect(shown.length).toBeLessThan(9_000);
    const [head = '', tail = ''] = shown.split(/\n\[… \d+ characters left out …\]\n/);
    const preview = head.slice(head.indexOf('\n\n') + 2);
    expect(text.startsWith(preview)).toBe(true);
    expect(text.endsWith(tail)).toBe(true);
    for (const line of [...preview.trimEnd().split('\n'), ...tail.split('\n')]) expect(lines).toContain(line);
    const left = Number(/\[… (\d+) characters/.exec(shown)?.[1]);
    expect(preview.length + left + tail.length).toBe(text.length);
  });

  it('of one line is shown in whole code points', () => {
    for (const text of ['🙂'.repeat(20_000), `a${'🙂'.repeat(20_000)}`, `${'🙂'.repeat(20_000)}a`]) {
      const shown = spillResult(openWorkspace(), 'c', text);
      expect(shown.isWellFormed()).toBe(true);
      expect(shown.length).toBeLessThan(9_000);
    }
  });

  it('of 10 MB is kept whole', () => {
    const workspace = openWorkspace();
    spillResult(workspace, 'c', 'abcdefghi\n'.repeat(1_000_000));
    expect(workspace.read(`${FOLDER}/c.txt`).info.bytes).toBe(10_000_000);
  });

  it('says that it is lost, and why, where it cannot be kept', () => {
    expect(spillResult(openWorkspace(), 'c', 'x'.repeat(16_000_001))).toMatch(/lost.*file_too_large/);
    const { workspace, sql } = openLocal();
    sql.run('UPDATE file_totals SET bytes = ?', MAX_WORKSPACE_BYTES);
    const shown = spillResult(workspace, 'c', 'x'.repeat(50_000));
    expect(shown).toMatch(/lost.*workspace_full/);
    expect(workspace.stat(FOLDER)).toBeNull();
    const blocked = openWorkspace();
    blocked.write('.perch', bytesOf('a file in the way'));
    expect(spillResult(blocked, 'c', 'x'.repeat(50_000))).toMatch(/lost.*not_a_directory/);
  });

  it('of the same call again is the same, and of another call with the same id is beside it', () => {
    const workspace = openWorkspace();
    const first = spillResult(workspace, 'c', 'a'.repeat(50_000));
    expect(spillResult(workspace, 'c', 'a'.repeat(50_000))).toBe(first);
    expect(spillResult(workspace, 'c', 'b'.repeat(50_000))).toContain(`${FOLDER}/c-2.txt`);
    expect(textOf(workspace.read(`${FOLDER}/c.txt`).bytes)).toBe('a'.repeat(50_000));
  });

  it.each(['../../etc/x', '/a', 'a b', '', '..', 'x'.repeat(500), 'a\0b', '🙂'])(
    'of the call %j stays in its folder',
    (call) => {
      const workspace = openWorkspace();
      spillResult(workspace, call, 'a'.repeat(50_000));
      const [file] = workspace.list(FOLDER, { limit: 9 }).files;
      expect(file?.path).toMatch(/^\/workspace\/\.perch\/results\/[0-9a-f]{32}\.txt$/);
    },
  );
});
