/** Models: routes to adapters, requests to calls, streams to answers. */

export { type Wait, waitWithTimer } from '../time-limit.ts';
export { classifyModelError } from './classify.ts';
export {
  anthropic,
  createModelResolver,
  offline,
  openaiCompatible,
  type ProviderDefinition,
  STANDARD_PROVIDERS,
  workersAi,
} from './providers.ts';
export { type AnswerOutcome, askModel, type ReadOptions } from './read-stream.ts';
export { checkRoute, parseRoute } from './route.ts';
export { createPromptBuilder, type PromptBuilder, toCallOptions } from './to-call.ts';
export type {
  CallOptions,
  Delta,
  ModelAnswer,
  ModelRequest,
  ModelResolver,
  ResolvedModel,
  ToolSchema,
} from './types.ts';
export { storedToolSchemas } from './types.ts';
