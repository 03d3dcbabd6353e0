export { addSpend, resolveLimits, type SessionLimits, spendOfTurn } from './budgets.ts';
export { createDriver, type Driver } from './driver.ts';
export { type Faults, NO_FAULTS } from './faults.ts';
export { createHeaders } from './headers.ts';
export type { LoopPorts, TurnSummary } from './ports.ts';
export { createPromptCache } from './prompt-cache.ts';
export { reportTurn } from './report.ts';
export { isParked } from './turn.ts';
