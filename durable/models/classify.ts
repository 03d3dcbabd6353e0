/**
 * What went wrong with a model request, from what an adapter throws or streams: one `PerchError` with facts to act
 * on (`provider`, `status`, `retry_after_ms`, `request_id`). Pure: the clock is an argument. Providers quote keys in
 * their messages, so every text from outside passes `scrubText`.
 */
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { z } from 'zod';
import {
  type Facts,
  modelAuthFailed,
  modelBadRequest,
  modelQuotaExhausted,
  modelRateLimited,
  modelResponseInvalid,
  modelStreamCut,
  modelUnavailable,
  modelUnreachable,
  PerchError,
} from '../errors.ts';

export interface ErrorContext {
  /** The provider's name, for the message and the facts. */
  provider: string;
  /** Milliseconds since the epoch: what a Retry-After date is measured from. */
  now: number;
  /** Removes the credentials that this provider was configured with. */
  redact: (text: string) => string;
}

/** What a provider says may be quoted this far. */
const QUOTE_CHARACTERS = 500;

export function classifyModelError(error: unknown, context: ErrorContext): PerchError {
  if (error instanceof PerchError) return error;
  if (APICallError.isInstance(error)) return classifyCallError(error, context);
  if (isUnreadable(error)) {
    return modelResponseInvalid(`The answer of ${context.provider} cannot be read.`, provide(context));
  }
  if (UnsupportedFunctionalityError.isInstance(error) || InvalidPromptError.isInstance(error)) {
    return modelBadRequest(
      `${context.provider} cannot take this request: ${quote(error.message, context)}`,
      provide(context),
    );
  }
  const streamed = streamedError.safeParse(error);
  if (streamed.success && !(error instanceof Error)) return classifyStreamedError(streamed.data, context);
  if (error instanceof TypeError || isNetworkError(error)) {
    return modelUnreachable(`${context.provider} cannot be reached.`, provide(context));
  }
  // No status, no network, no word of the provider's: the adapter could not make sense of what came.
  const message = error instanceof Error ? quote(error.message, context) : 'no reason given';
  return modelResponseInvalid(
    `The answer of ${context.provider} cannot be read: ${message}`,
    provide(context),
  );
}

/** A failed HTTP call. Status 2xx: the answer had begun. No status: there was no answer. */
function classifyCallError(error: APICallError, context: ErrorContext): PerchError {
  const status = error.statusCode;
  if (status === undefined) {
    if (error.url.startsWith('workers-ai:'))
      return classifyStatus(undefined, error.message, provide(context), context);
    return modelUnreachable(`${context.provider} cannot be reached.`, provide(context));
  }
  const facts = { ...provide(context), status, ...readHeaders(error.responseHeaders ?? {}, context.now) };
  if (status >= 200 && status < 300) {
    return isUnreadable(error.cause)
      ? modelResponseInvalid(`The answer of ${context.provider} cannot be read.`, facts)
      : modelStreamCut(`The connection to ${context.provider} broke off during the answer.`, facts);
  }
  return classifyStatus(status, error.message, facts, context, error.responseBody);
}

const NO_QUOTA = /insufficient_quota|exceeded your current quota/i;

function classifyStatus(
  status: number | undefined,
  message: string,
  facts: Facts,
  context: ErrorContext,
  /** More of what the provider said, to look into and not to quote. */
  words = '',
): PerchError {
  const { provider } = context;
  const said = message.trim() === '' ? '' : `: ${quote(message, context)}`;
  const answered = status === undefined ? provider : `${provider} answered ${status}`;
  if (status === 401 || status === 403) return modelAuthFailed(`${answered}${said}`, facts);
  if (status === 429) {
    // An account without credit, under the status of a limit that passes by itself.
    return NO_QUOTA.test(`${message} ${words}`)
      ? modelQuotaExhausted(`${answered}${said}`, facts)
      : modelRateLimited(`${answered}${said}`, facts);
  }
  if (status === undefined || status === 408 || status >= 500)
    return modelUnavailable(`${answered}${said}`, facts);
  return modelBadRequest(`${answered}${said}`, facts);
}

/** An error inside a stream: an object of the provider's, whose `statusCode`, `code` or `type` says what it is. */
const streamedError = z.object({
  message: z.string(),
  type: z.string().nullish().catch(undefined),
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  statusCode: z.number().nullish().catch(undefined),
});

const STATUS_BY_WORD: readonly (readonly [RegExp, number])[] = [
  [/auth|api_key|permission/, 401],
  [/rate_?limit|too_many|quota/, 429],
  [/overload|unavailable|server_error|api_error|internal|timeout/, 503],
  [/invalid|not_found|too_large|context_length|billing|unsupported/, 400],
];

function classifyStreamedError(error: z.infer<typeof streamedError>, context: ErrorContext): PerchError {
  const status = error.statusCode ?? statusFromCode(error.code) ?? statusFromWords(error.code, error.type);
  const facts = status === undefined ? provide(context) : { ...provide(context), status };
  return classifyStatus(status, error.message, facts, context, `${error.code} ${error.type}`);
}

function statusFromCode(code: string | number | null | undefined): number | undefined {
  const number = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof number === 'number' && number >= 400 && number < 600 ? number : undefined;
}

function statusFromWords(...words: (string | number | null | undefined)[]): number | undefined {
  const text = words
    .filter((word) => typeof word === 'string')
    .join(' ')
    .toLowerCase();
  return STATUS_BY_WORD.find(([pattern]) => pattern.test(text))?.[1];
}

function isUnreadable(error: unknown): boolean {
  return (
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error) ||
    EmptyResponseBodyError.isInstance(error) ||
    error instanceof SyntaxError
  );
}

const networkCode = z.object({ code: z.string().regex(/^(?:E[A-Z]+|UND_ERR_[A-Z_]+)$/) });

/** Node puts a code on its network errors; workerd has only a message. */
function isNetworkError(error: unknown): boolean {
  if (networkCode.safeParse(error).success) return true;
  return (
    error instanceof Error && /network connection lost|connection refused|disconnected/i.test(error.message)
  );
}

function provide(context: ErrorContext): Facts {
  return { provider: context.provider };
}

function readHeaders(headers: Record<string, string | undefined>, now: number): Facts {
  const facts: Facts = {};
  const wait = parseRetryAfter(headers['retry-after-ms'], headers['retry-after'], now);
  if (wait !== undefined) facts.retry_after_ms = wait;
  const id = headers['x-request-id'] ?? headers['request-id'];
  if (id !== undefined && /^[\w.:-]{1,128}$/.test(id)) facts.request_id = id;
  return facts;
}

/** Retry-After is a number of seconds or an HTTP date (RFC 9110, 10.2.3); `retry-after-ms` is OpenAI's finer one. */
function parseRetryAfter(ms: string | undefined, after: string | undefined, now: number): number | undefined {
  if (ms !== undefined && /^\d+(?:\.\d+)?$/.test(ms.trim())) return Math.ceil(Number(ms));
  if (after === undefined) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(after.trim())) return Math.ceil(Number(after) * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Cut at a character's end after scrubbing, so that a cut cannot hide half a key from it. */
function quote(text: string, context: ErrorContext): string {
  const clean = scrubText(context.redact(text)).replace(/\s+/g, ' ').trim();
  const points = Array.from(clean);
  return points.length <= QUOTE_CHARACTERS ? clean : `${points.slice(0, QUOTE_CHARACTERS - 1).join('')}…`;
}

const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[^\s"',;]+/gi, '$1 [redacted]'],
  [
    /((?:x-)?api[-_ ]?key|authorization|access[-_ ]?token|token|secret|password)(["']?\s*(?:provided)?\s*[:=]\s*["']?)[^\s"',;]+/gi,
    '$1$2[redacted]',
  ],
  [/\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|r8|key|fw|pplx|nvapi|csk)[-_][\w*.-]{4,}/gi, '[redacted]'],
  [/\bAIza[\w-]{10,}/g, '[redacted]'],
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]+)?/g, '[redacted]'],
  // A long run of letters and digits is nobody's prose.
  [/\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b/g, '[redacted]'],
];

/** Takes out whatever looks like a credential. Better a lost word than a shown key. */
export function scrubText(text: string): string {
  return CREDENTIALS.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text);
}
