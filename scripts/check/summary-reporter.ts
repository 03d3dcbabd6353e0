/** A vitest reporter: the run's outcome as one plain line, the last that is printed. */
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const line = formatCounts(countTests(modules, unhandled.length));
    // When the process ends: every other reporter has spoken by then.
    process.once('exit', () => console.log(line));
  }
}

/** A file that cannot be loaded, and an error outside of any test, count as a failure each. */
export function countTests(modules: readonly TestModule[], unhandled: number): Counts {
  const counts: Counts = { passed: 0, failed: unhandled, skipped: 0 };
  for (const module of modules) {
    counts.failed += module.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') counts.passed += 1;
      else if (state === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
  }
  return counts;
}

/** `12 passed, 0 failed`, and `, 3 skipped` where there are. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}
