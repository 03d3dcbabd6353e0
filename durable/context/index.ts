export { type PreStep, runLanes } from './lanes.ts';
export { runtimeContextLane } from './runtime-context.ts';
export {
  type Injection,
  LANES,
  type Lane,
  type LaneContext,
  type LaneDefinition,
  type LaneOutcome,
} from './types.ts';
