import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/properties.ts', import.meta.url));
const SEEDS = 300;

const run = promisify(execFile);

describe('sessions in a simulated world', () => {
  it('lose nothing, double nothing and get stuck nowhere, whatever fails around them', {
    timeout: 180_000,
  }, async () => {
    const { stdout } = await run(process.execPath, [SCRIPT, '--seeds', String(SEEDS)]).catch(
      (failure: { stdout: string }) => failure,
    );
    expect(stdout).toMatch(
      new RegExp(`^seeds ${SEEDS}, operations \\d+, crashes \\d+, lost 0, doubled 0, stuck 0$`, 'm'),
    );
    const [, crashes = '0'] = /crashes (\d+)/.exec(stdout) ?? [];
    expect(Number(crashes)).toBeGreaterThan(SEEDS);
  });
});
