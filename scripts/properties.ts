/**
 * `npm run test:properties -- [--seeds N] [--seed S]`: runs the simulation of sessions for N seeds from S on, and ends
 * with one line of what was found. A seed that fails is shrunk and shown with the command that repeats it. Exit code 1
 * for anything lost, doubled, stuck or otherwise wrong.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { z } from 'zod';
import type { Problem, ProblemKind, Scenario } from '../test/simulation/index.ts';

const DEFAULT_SEEDS = 2_000;
/** A fault in the service shows in many seeds: the first few are enough to look at. */
const MOST_SHOWN = 3;

const share = z.object({ first: z.number(), last: z.number(), step: z.number() });
const outcome = z.object({
  seed: z.number(),
  operations: z.number(),
  crashes: z.number(),
  requests: z.number(),
  forks: z.number(),
  points: z.array(z.string()),
  problems: z.array(z.object({ kind: z.enum(['lost', 'doubled', 'stuck', 'wrong']), text: z.string() })),
  /** How a failing seed is told; empty for the rest. */
  story: z.string(),
});
type Outcome = z.infer<typeof outcome>;

if (isMainThread) await main();
else await work(share.parse(workerData));

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { seeds: { type: 'string' }, seed: { type: 'string' } } });
  const first = Number(values.seed ?? 1);
  const count = Number(values.seeds ?? (values.seed === undefined ? DEFAULT_SEEDS : 1));
  if (!Number.isInteger(first) || !Number.isInteger(count) || count < 1) {
    console.error('Usage: npm run test:properties -- [--seeds N] [--seed S]');
    process.exitCode = 2;
    return;
  }
  const step = Math.min(availableParallelism(), count);
  const outcomes: Outcome[] = [];
  let shown = 0;
  const take = (value: unknown): void => {
    const taken = outcome.parse(value);
    outcomes.push(taken);
    if (taken.story !== '' && shown++ < MOST_SHOWN) console.log(taken.story);
  };
  const shares = Array.from({ length: step }, (_, i) => ({
    first: first + i,
    last: first + count - 1,
    step,
  }));
  await Promise.all(shares.map((data) => runShare(data, take)));
  report(outcomes, count);
}

/** In a thread of its own, because a simulation takes the clock and the timers away. */
function runShare(data: z.infer<typeof share>, take: (outcome: unknown) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: data,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  worker.on('message', take);
  worker.on('error', reject);
  worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with ${code}`))));
  return promise;
}

function report(outcomes: readonly Outcome[], seeds: number): void {
  const sum = (of: (one: Outcome) => number): number => outcomes.reduce((total, one) => total + of(one), 0);
  const count = (kind: ProblemKind): number =>
    outcomes.filter(({ problems }) => problems.some((problem) => problem.kind === kind)).length;
  const failing = outcomes.filter(({ problems }) => problems.length > 0).map(({ seed }) => seed);
  const points = new Set(outcomes.flatMap((one) => one.points));
  if (failing.length > 0) console.log(`failing seeds: ${failing.toSorted((a, b) => a - b).join(' ')}`);
  console.log(
    `${sum((one) => one.requests)} requests, ${sum((one) => one.forks)} forks, ${points.size} fault points`,
  );
  const [lost, doubled, stuck, wrong] = (['lost', 'doubled', 'stuck', 'wrong'] as const).map(count);
  console.log(
    `seeds ${seeds}, operations ${sum((one) => one.operations)}, crashes ${sum((one) => one.crashes)}, ` +
      `lost ${lost}, doubled ${doubled}, stuck ${stuck}${wrong === 0 ? '' : `, otherwise wrong ${wrong}`}`,
  );
  process.exitCode = failing.length > 0 ? 1 : 0;
}

async function work({ first, last, step }: z.infer<typeof share>): Promise<void> {
  const { makeScenario, runScenario } = await import('../test/simulation/index.ts');
  let told = 0;
  for (let seed = first; seed <= last; seed += step) {
    const scenario = makeScenario(seed);
    const result = await runScenario(scenario);
    const { operations, crashes, requests, forks, problems, tail } = result;
    const isTold = problems.length > 0 && told++ < MOST_SHOWN;
    const sent: Outcome = {
      seed,
      operations,
      crashes,
      requests,
      forks,
      points: [...result.points.keys()],
      problems,
      story: isTold ? await tell({ scenario, problems }, tail) : '',
    };
    parentPort?.postMessage(sent);
  }
}

async function tell(
  failing: { scenario: Scenario; problems: Problem[] },
  tail: readonly string[],
): Promise<string> {
  const { runScenario, shrinkScenario } = await import('../test/simulation/index.ts');
  const { seed } = failing.scenario;
  let end = tail;
  const shrunk = await shrinkScenario(failing, async (scenario) => {
    const result = await runScenario(scenario);
    if (result.problems.length > 0) end = result.tail;
    return result.problems;
  });
  const { agent, freshMs, opening, operations } = shrunk.scenario;
  return [
    `\nSeed ${seed} fails:`,
    ...failing.problems.slice(0, 8).map(({ kind, text }) => `  ${kind}: ${text}`),
    `Shrunk from ${failing.scenario.operations.length} operations to ${operations.length}, it fails with:`,
    ...shrunk.problems.slice(0, 8).map(({ kind, text }) => `  ${kind}: ${text}`),
    `Agent ${agent}, releases seen after ${freshMs} ms at most, points at the opening: ${opening.join() || 'none'}`,
    ...operations.map(
      ({ id, at, session, action }) => `  ${at} ms, session ${session}, op ${id}: ${JSON.stringify(action)}`,
    ),
    'Its logs end:',
    ...end.map((line) => `  ${line}`),
    `Repeat it: npm run test:properties -- --seed ${seed}`,
  ].join('\n');
}
