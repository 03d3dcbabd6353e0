/** A part of the kill tests: some scenarios in one file, so that files share the machine. */
import { env } from 'cloudflare:workers';
import { expect, it, type TestContext } from 'vitest';
import { z } from 'zod';
import type { ScenarioTally } from '../../scripts/faults/tally.ts';
import { chooseCases, formatCase, parseCase } from './cases.ts';
import { type CaseResult, type Injection, runCase } from './driver.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

declare module 'vitest' {
  interface TaskMeta {
    faults?: ScenarioTally;
  }
}

const setting = z.string().default('');
const settings = z.object({ FAULTS_ONLY: setting, FAULTS_LIMIT: setting, FAULTS_QUICK: setting }).parse(env);
const TIME_LIMIT_MS = 600_000;
/** Enough to see what is wrong; one, where only whether something is wrong is asked. */
const MOST_FAILURES = 5;

/** Defines a test for each of these scenarios. */
export function testScenarios(names: readonly string[]): void {
  const only = settings.FAULTS_ONLY === '' ? null : settings.FAULTS_ONLY.split(',').map(parseCase);
  for (const name of names) {
    const scenario = SCENARIOS.find((candidate) => candidate.name === name);
    if (!scenario) throw new Error(`there is no scenario ${name}`);
    const wanted = only?.find((one) => one.scenario === name);
    const isLeftOut = only !== null && !wanted;
    it.skipIf(isLeftOut)(
      `keeps its promises in ${name}, whatever is done at any of its points`,
      { timeout: TIME_LIMIT_MS },
      (context) => testScenario(scenario, wanted?.injection ?? null, context),
    );
  }
}

async function testScenario(
  scenario: Scenario,
  only: Injection | null,
  { task }: TestContext,
): Promise<void> {
  const calm = await runCase(scenario, null);
  expect(calm.findings, `${scenario.name} without a fault`).toEqual([]);
  const tally: ScenarioTally = {
    scenario: scenario.name,
    points: [...calm.points],
    modes: {},
    kills: 0,
    lost: 0,
    doubled: 0,
    stuck: 0,
    broken: 0,
    recoveryMs: [],
  };
  task.meta.faults = tally;
  const limit = settings.FAULTS_LIMIT === '' ? scenario.cases : Number(settings.FAULTS_LIMIT);
  const cases = only ? [only] : chooseCases(calm.trace, limit, SCENARIOS.indexOf(scenario));
  const failures: string[] = [];
  for (const injection of cases) {
    const result = await runCase(scenario, injection);
    addResult(tally, injection, result);
    if (result.findings.length > 0) {
      failures.push(describeFailure(scenario, injection, result));
      // At once as well: what hangs later must not hide it.
      console.error(failures.at(-1));
    }
    if (failures.length >= (settings.FAULTS_QUICK === '' ? MOST_FAILURES : 1)) break;
  }
  expect(failures.join('\n\n')).toBe('');
}

function addResult(tally: ScenarioTally, { mode }: Injection, result: CaseResult): void {
  tally.points = [...new Set([...tally.points, ...result.points])];
  if (result.wasReached) tally.modes[mode] = (tally.modes[mode] ?? 0) + 1;
  tally.kills += result.kills;
  if (result.recoveryMs !== null) tally.recoveryMs.push(result.recoveryMs);
  for (const { kind } of result.findings) tally[kind]++;
}

function describeFailure(scenario: Scenario, injection: Injection, result: CaseResult): string {
  const words = formatCase(scenario.name, injection);
  const second = result.secondPoint === null ? '' : `, and again at ${result.secondPoint}`;
  return [
    `${words}${second}`,
    ...result.findings.map(({ promise, kind, detail }) => `  ${promise}: ${kind}: ${detail}`),
    `  again: npm run test:faults -- --only ${words}`,
  ].join('\n');
}
