/**
 * Every error that a client can see: one class each, built from data, with a stable snake_case code. The worker
 * turns them into RFC 9457 problem documents; the loop turns them into a turn's `error` reason. `detail` and
 * `facts` are for the caller, so no secret and no hidden name goes into them.
 */
import type { Failure } from './transcript/events.ts';

export type Fact =
  | string
  | number
  | boolean
  | null
  | string[]
  | { path: string; message: string }[]
  | { file: string; line: number; severity: string; code: string; message: string }[];
export type Facts = Record<string, Fact>;

/** An error as data: what crosses an RPC boundary, where classes do not. */
export interface ErrorData {
  code: string;
  /** HTTP status where a route answers with it. */
  status: number;
  title: string;
  detail: string;
  facts: Facts;
}

export class PerchError extends Error {
  readonly data: ErrorData;
  constructor(data: ErrorData) {
    super(data.detail);
    this.name = 'PerchError';
    this.data = data;
  }
}

/** An RPC answer: a value, or an error as data. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; error: ErrorData };

export function toFailure(error: ErrorData): Failure {
  const { code, detail, facts } = error;
  return Object.keys(facts).length > 0 ? { code, message: detail, facts } : { code, message: detail };
}

function define(status: number, code: string, title: string) {
  return (detail: string, facts: Facts = {}): PerchError =>
    new PerchError({ code, status, title, detail, facts });
}

// Requests
export const invalidRequest = define(400, 'invalid_request', 'The request is not valid');
export const malformedJson = define(400, 'malformed_json', 'The body is not JSON');
export const jsonTooDeep = define(400, 'json_too_deep', 'The body is nested too deeply');
export const bodyTooLarge = define(413, 'body_too_large', 'The body is too large');
export const forgedSource = define(400, 'forged_source', 'A body cannot say who is speaking');
export const unsupportedMediaType = define(
  415,
  'unsupported_media_type',
  'The content type is not supported',
);
export const notFound = define(404, 'not_found', 'There is nothing here');
export const methodNotAllowed = define(405, 'method_not_allowed', 'The method is not allowed here');
export const upgradeRequired = define(426, 'upgrade_required', 'This takes a WebSocket');
export const originNotAllowed = define(403, 'origin_not_allowed', 'The origin is not allowed');
export const misconfigured = define(500, 'misconfigured', 'This deployment is not configured');
export const internalError = define(500, 'internal_error', 'Something failed here');
export const unavailable = define(503, 'unavailable', 'Try again shortly');

// Keys
export const unauthenticated = define(401, 'unauthenticated', 'A valid API key is needed');
export const missingScope = define(403, 'missing_scope', 'The API key lacks a scope');

// Sessions
export const sessionNotFound = define(404, 'session_not_found', 'There is no such session');
export const sessionExists = define(409, 'session_exists', 'The session exists already');
export const sessionBusy = define(409, 'session_busy', 'A turn is running');
export const unknownAgent = define(422, 'unknown_agent', 'There is no such agent');
export const unknownModel = define(422, 'unknown_model', 'There is no such model');
export const idempotencyConflict = define(
  409,
  'idempotency_conflict',
  'The Idempotency-Key was used with another request',
);
export const mediaNotAccepted = define(422, 'media_not_accepted', 'The model does not take this content');
export const messageTooLarge = define(413, 'message_too_large', 'The message is too large');
export const valueTooLarge = define(413, 'value_too_large', 'The value is too large to keep');
export const stepNotFound = define(404, 'step_not_found', 'There is no such step');
export const messageNotFound = define(404, 'message_not_found', 'There is no such message');
export const messageClaimed = define(409, 'message_claimed', 'A turn has taken the message');
export const approvalNotFound = define(404, 'approval_not_found', 'Nothing of this id waits for a decision');
export const approvalSettled = define(409, 'approval_settled', 'It is decided already');
export const notABoundary = define(409, 'not_a_boundary', 'The session cannot be forked there');
export const sessionDamaged = define(500, 'session_damaged', 'The session cannot be read');
export const budgetNotPriced = define(422, 'budget_not_priced', 'A budget of money needs a price');

// Prompt assembly
export const promptUnknownVariable = define(
  422,
  'prompt_unknown_variable',
  'A section names an unknown variable',
);
export const promptVariableWithoutValue = define(
  422,
  'prompt_variable_without_value',
  'A section names a variable that has no value here',
);
export const promptMalformedReference = define(
  422,
  'prompt_malformed_reference',
  'A section holds a malformed reference',
);
export const promptUnbalancedReference = define(
  422,
  'prompt_unbalanced_reference',
  'A section holds an unbalanced reference',
);
export const registryDuplicate = define(500, 'registry_duplicate', 'A name is registered twice');
export const registryInvalid = define(500, 'registry_invalid', 'A registration is not valid');
export const toolOrderUnknown = define(500, 'tool_order_unknown', 'The tool order names an unknown tool');

// Models
export const modelNotConfigured = define(422, 'model_not_configured', 'The model has no credentials here');
export const modelAuthFailed = define(502, 'model_auth_failed', 'The provider refused the credentials');
export const modelRateLimited = define(502, 'model_rate_limited', 'The provider limits the rate');
export const modelUnavailable = define(502, 'model_unavailable', 'The provider failed');
export const modelBadRequest = define(502, 'model_bad_request', 'The provider rejected the request');
export const modelStalled = define(504, 'model_stalled', 'The model stopped answering');
export const modelStreamCut = define(502, 'model_stream_cut', 'The answer ended before it was complete');
export const modelResponseInvalid = define(502, 'model_response_invalid', 'The answer cannot be read');
export const modelUnreachable = define(502, 'model_unreachable', 'The provider cannot be reached');
export const modelRefused = define(502, 'model_refused', 'The provider declined to answer');
export const modelEmptyAnswer = define(502, 'model_empty_answer', 'The model answered nothing');
export const modelQuotaExhausted = define(502, 'model_quota_exhausted', "The provider's quota is used up");
export const stepTimeout = define(504, 'step_timeout', 'A step could not be prepared in time');
export const recordingMissing = define(422, 'recording_missing', 'There is no such recording');
export const recordingExhausted = define(502, 'recording_exhausted', 'The recording has no such request');
export const recordingUnbound = define(502, 'recording_unbound', 'The recording has no result for this call');

// Skills
export const skillBundleMissing = define(503, 'skill_bundle_missing', 'No skills are published');
export const skillManifestMissing = define(
  503,
  'skill_manifest_missing',
  'The published skills cannot be read',
);
export const skillContentMissing = define(503, 'skill_content_missing', "A skill's content cannot be read");
export const skillNameInvalid = define(400, 'skill_name_invalid', 'The skill name is not valid');
export const skillUnknown = define(404, 'skill_unknown', 'There is no such skill');
export const skillNotModelInvocable = define(
  403,
  'skill_not_model_invocable',
  'Only a person can invoke this skill',
);
export const skillRejected = define(422, 'skill_rejected', 'The skill is not valid');
export const skillLimitReached = define(
  409,
  'skill_limit_reached',
  'The tenant has all the skills it may have',
);
export const skillPublishFailed = define(503, 'skill_publish_failed', 'The skills could not be published');
export const skillResourceUnknown = define(404, 'skill_resource_unknown', 'The skill has no such file');
export const skillResourceTooLarge = define(
  413,
  'skill_resource_too_large',
  'The file is too large to be read',
);

/** An unexpected failure as data; what it says inside stays inside. */
export function toErrorData(error: unknown): ErrorData {
  if (error instanceof PerchError) return error.data;
  return internalError('An unexpected error stopped this. The log line of this request has the reason.').data;
}

// Tools
export const unknownTool = define(422, 'unknown_tool', 'There is no such tool');
export const invalidArguments = define(422, 'invalid_arguments', 'The arguments are not valid');

// Workspace
export const pathInvalid = define(400, 'path_invalid', 'The path is not valid');
export const fileNotFound = define(404, 'file_not_found', 'There is no such file');
export const fileChanged = define(409, 'file_changed', 'The file has changed');
export const fileTooLarge = define(413, 'file_too_large', 'The file is too large');
export const workspaceFull = define(413, 'workspace_full', 'The workspace is full');
export const isADirectory = define(409, 'is_a_directory', 'The path is a directory');
export const notADirectory = define(409, 'not_a_directory', 'The path is not a directory');
export const directoryNotEmpty = define(409, 'directory_not_empty', 'The directory is not empty');
export const editNotFound = define(422, 'edit_not_found', 'The text is not in the file');
export const editAmbiguous = define(422, 'edit_ambiguous', 'The text is in the file more than once');
export const fileNotRead = define(409, 'file_not_read', 'The file has not been read');
export const notText = define(422, 'not_text', 'The file is not text');
export const preconditionFailed = define(412, 'precondition_failed', 'The file is not in the expected state');
export const archiveInvalid = define(422, 'archive_invalid', 'The archive cannot be read');

// Web
export const addressNotAllowed = define(403, 'address_not_allowed', 'The address may not be fetched');
export const fetchFailed = define(502, 'fetch_failed', 'The page could not be fetched');
export const fetchTooLarge = define(413, 'fetch_too_large', 'The page is too large');
export const searchNotConfigured = define(422, 'search_not_configured', 'No search service is configured');
export const searchFailed = define(502, 'search_failed', 'The search failed');

// Servers of the Model Context Protocol
export const mcpUnavailable = define(502, 'mcp_unavailable', 'The tool server cannot be used');
export const mcpError = define(502, 'mcp_error', 'The tool server answered with an error');
