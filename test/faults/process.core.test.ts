import { expect, it } from 'vitest';
import { formatProcessReport, runProcessTest } from '../../scripts/faults/process.ts';

it('loses and doubles nothing when the runtime is killed under load and started on its disk', async () => {
  const lines: string[] = [];
  const report = await runProcessTest({ rounds: 3, sessions: 20, log: (line) => lines.push(line) });
  console.log([...lines, formatProcessReport(report)].join('\n'));
  expect(report.findings).toEqual([]);
  // Most of the sessions that nobody connected to went on by themselves after each kill; all came to an end.
  expect(report.recoveryMs.length).toBeGreaterThanOrEqual(report.rounds * 2);
  expect(Math.max(...report.recoveryMs)).toBeLessThan(5_000);
}, 120_000);
