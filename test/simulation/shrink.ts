/** Finds the shortest list of operations that still fails in the same way. */
import type { Operation, Scenario } from './operations.ts';
import type { Problem } from './problems.ts';

/** Runs at most: a list of thirty needs some dozens. */
const MOST_RUNS = 300;

export interface Shrunk {
  scenario: Scenario;
  problems: Problem[];
  runs: number;
}

/** Drops operations, many at first and then one by one, for as long as a problem of the first one's kind remains. */
export async function shrinkScenario(
  failing: { scenario: Scenario; problems: Problem[] },
  run: (scenario: Scenario) => Promise<Problem[]>,
): Promise<Shrunk> {
  let { scenario, problems } = failing;
  const kind = problems[0]?.kind;
  let runs = 0;
  for (
    let size = Math.ceil(scenario.operations.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < scenario.operations.length && runs < MOST_RUNS; ) {
      const fewer = without(scenario, from, size);
      runs++;
      const found = await run(fewer);
      const same = found.filter((problem) => problem.kind === kind);
      if (same.length > 0) {
        scenario = fewer;
        problems = found;
      } else from += size;
    }
  }
  return { scenario, problems, runs };
}

function without(scenario: Scenario, from: number, size: number): Scenario {
  const operations: Operation[] = scenario.operations.toSpliced(from, size);
  return { ...scenario, operations };
}
