export { makeScenario, type Operation, type Scenario } from './operations.ts';
export type { Problem, ProblemKind } from './problems.ts';
export { type RunResult, runScenario } from './run.ts';
export { type Shrunk, shrinkScenario } from './shrink.ts';
