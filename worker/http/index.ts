export { prefersEventStream } from './accept.ts';
export {
  MESSAGE_BODY_BYTES,
  parseWith,
  readBytes,
  readForm,
  readJson,
  readMediaType,
  SMALL_BODY_BYTES,
} from './body.ts';
export { answerCors, authorize, configure, identifyRequest, logRequest } from './middleware.ts';
export { createSessionNotFound, reachObject, readOutcome } from './outcome.ts';
export { parseWait } from './prefer.ts';
export { answerProblem, buildProblem, problem } from './problem.ts';
export {
  type AppContext,
  type AppEnv,
  IDEMPOTENCY_KEY_HEADER,
  type NamedSchema,
  type Route,
} from './route.ts';
