/** Models: routes to adapters, requests to calls, streams to answers. */

export { type Wait, waitWithTimer } from '../time-limit.ts';
export { classifyModelError } from './classify.ts';
export {
  anthropic,
  createModelResolver,
  type ModelEnv,
  offline,
  openaiCompatible,
  type ProviderDefinition,
  STANDARD_PROVIDERS,
  workersAi,
} from './providers.ts';
export { type AnswerOutcome, askModel, type ReadOptions } from './read-stream.ts';
export { type Recording, type RecordingSource, recordModels } from './recording.ts';
export { createReplayModel, replay } from './replay.ts';
export { checkRoute, parseRoute } from './route.ts';
export { createPromptBuilder, type PromptBuilder, toCallOptions } from './to-call.ts';
export type {
  CallOptions,
  Delta,
  ModelAnswer,
  ModelRequest,
  ModelResolver,
  RequestFrame,
  ResolvedModel,
  ToolSchema,
} from './types.ts';
export { storedToolSchemas } from './types.ts';
