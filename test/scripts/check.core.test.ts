import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Metafile, measureStartShare } from '../../scripts/check/bundle-size.ts';
import { formatCounts } from '../../scripts/check/summary-reporter.ts';

describe('the share of a bundle that loads at the start', () => {
  it('is what static imports reach from the entry point', () => {
    const meta: Metafile = {
      inputs: {
        'index.ts': {
          imports: [
            { path: 'a.ts', kind: 'import-statement' },
            { path: 'late.ts', kind: 'dynamic-import' },
          ],
        },
        'a.ts': { imports: [{ path: 'index.ts', kind: 'import-statement' }] },
        'late.ts': { imports: [{ path: 'deep.ts', kind: 'import-statement' }] },
        'deep.ts': { imports: [] },
      },
      outputs: {
        'index.js.map': { inputs: {} },
        'index.js': {
          entryPoint: 'index.ts',
          inputs: {
            'index.ts': { bytesInOutput: 100 },
            'a.ts': { bytesInOutput: 200 },
            'late.ts': { bytesInOutput: 300 },
            'deep.ts': { bytesInOutput: 400 },
          },
        },
      },
    };
    expect(measureStartShare(meta)).toBe(0.3);
  });
});

describe('the last line of a test run', () => {
  it('says what passed and what failed, and what was skipped where something was', () => {
    expect(formatCounts({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed');
    expect(formatCounts({ passed: 12, failed: 1, skipped: 3 })).toBe('12 passed, 1 failed, 3 skipped');
  });
});

describe('the linter', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perch-lint-test-'));
    const config = z.record(z.string(), z.json()).parse(JSON.parse(await readFile('biome.json', 'utf8')));
    await writeFile(join(folder, 'biome.json'), JSON.stringify({ ...config, vcs: { enabled: false } }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const lint = async (text: string): Promise<string> => {
    await writeFile(join(folder, 'fixture.ts'), text);
    const run = promisify(execFile)(resolve('node_modules/.bin/biome'), ['lint', '.'], { cwd: folder });
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    return stdout + stderr;
  };

  it('refuses a promise that nobody waits for', { timeout: 30_000 }, async () => {
    const text = 'export async function work(): Promise<void> {}\nwork();\n';
    expect(await lint(text)).toContain('lint/nursery/noFloatingPromises');
    expect(await lint(text.replace('\nwork()', '\nawait work()'))).not.toContain('noFloatingPromises');
  });
});
