export * from './events.ts';
export { exportLog, namesOf } from './export.ts';
export { createInvokedSkills } from './invoked-skills.ts';
export { type Append, type Committed, createLog, type EventPage, type Log } from './log.ts';
export { type Interruption, repairCalls, repairStep } from './repair.ts';
export { digestRequest, EMPTY_CHAIN, extendChain } from './request-digest.ts';
export { createStreamBuffer, type DeltaFrame, type StreamBuffer } from './stream.ts';
export { createSurface, replaceInRanges, type Surface, type SurfaceRange, writeRanges } from './surface.ts';
export {
  type Approval,
  addCharge,
  type CallState,
  foldTurn,
  isWaiting,
  type NextAction,
  NO_CHARGE,
  nextAction,
  openTurn,
  type TurnState,
} from './turn-state.ts';
