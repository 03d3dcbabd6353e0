/** Models: routes to adapters, requests to calls, streams to answers. */
export { classifyModelError, type ErrorContext } from './classify.ts';
export {
  type AcceptedMedia,
  type AnthropicOptions,
  anthropic,
  createModelResolver,
  type ModelEnv,
  type OpenAiCompatibleOptions,
  offline,
  openaiCompatible,
  type ProviderDefinition,
  type ProviderInstance,
  STANDARD_PROVIDERS,
  workersAi,
} from './providers.ts';
export { type AnswerOutcome, askModel, type ReadOptions } from './read-stream.ts';
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
export { type Wait, waitWithTimer } from './watch.ts';
