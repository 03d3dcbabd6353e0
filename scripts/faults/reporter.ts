/** A vitest reporter: what the kill tests tried and found, a line a scenario and one for all of them. */
import type { Reporter, TestModule } from 'vitest/node';
import { listPoints } from './points.ts';
import { formatTallies, type ScenarioTally } from './tally.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** What a scenario's test tells. */
    faults?: ScenarioTally;
  }
}

export default class FaultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tallies = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => test.meta().faults ?? []),
    );
    if (tallies.length === 0) return;
    // When the process ends: every other reporter has spoken by then.
    process.once('exit', () => console.log(`\n${formatTallies(tallies, listPoints('durable'))}`));
  }
}
