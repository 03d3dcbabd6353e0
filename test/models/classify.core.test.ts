import { APICallError, JSONParseError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { modelStalled } from '../../durable/errors.ts';
import { classifyModelError } from '../../durable/models/index.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const context = {
  provider: 'acme',
  now: NOW,
  redact: (text: string) => text.replaceAll('hunter2', '[redacted]'),
};

function callError(
  statusCode: number | undefined,
  options: { message?: string; headers?: Record<string, string>; cause?: unknown } = {},
) {
  return new APICallError({
    message: options.message ?? 'no',
    url: 'https://api.example.com/v1?key=hunter2',
    requestBodyValues: { secret: 'hunter2' },
    ...(statusCode === undefined ? {} : { statusCode }),
    responseHeaders: { authorization: 'Bearer hunter2', ...options.headers },
    cause: options.cause,
  });
}

const classify = (error: unknown) => classifyModelError(error, context).data;

describe('a status decides what an error is', () => {
  it.each([
    [400, 'model_bad_request'],
    [401, 'model_auth_failed'],
    [403, 'model_auth_failed'],
    [404, 'model_bad_request'],
    [408, 'model_unavailable'],
    [413, 'model_bad_request'],
    [422, 'model_bad_request'],
    [429, 'model_rate_limited'],
    [500, 'model_unavailable'],
    [503, 'model_unavailable'],
    [529, 'model_unavailable'],
  ])('%i is %s', (status, code) => {
    expect(classify(callError(status))).toMatchObject({ code, facts: { provider: 'acme', status } });
  });

  it('no status is a provider that cannot be reached', () => {
    expect(classify(callError(undefined, { message: 'Cannot connect to API: refused' }))).toMatchObject({
      code: 'model_unreachable',
      facts: { provider: 'acme' },
    });
  });

  it('a good status with a broken body is a cut stream, or an answer that cannot be read', () => {
    expect(classify(callError(200, { cause: new TypeError('terminated') })).code).toBe('model_stream_cut');
    const cause = new JSONParseError({ text: '{', cause: new SyntaxError('x') });
    expect(classify(callError(200, { cause })).code).toBe('model_response_invalid');
  });
});

describe('retry_after_ms', () => {
  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': 'Sun, 01 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sun, 01 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': '7', 'retry-after-ms': '120' }, 120],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%o is %s', (headers, expected) => {
    expect(classify(callError(429, { headers })).facts.retry_after_ms).toBe(expected);
  });
});

describe('errors without a status', () => {
  it.each([
    ['the network', new TypeError('fetch failed'), 'model_unreachable'],
    ['a lost connection in workerd', new Error('Network connection lost.'), 'model_unreachable'],
    ['a socket', Object.assign(new Error('x'), { code: 'ECONNRESET' }), 'model_unreachable'],
    ['bad JSON', new JSONParseError({ text: '{', cause: new SyntaxError('x') }), 'model_response_invalid'],
    ['a surprise in the adapter', new Error('Unsupported chunk type'), 'model_response_invalid'],
    ['a streamed object with a status', { message: 'm', statusCode: 529 }, 'model_unavailable'],
    ['a streamed object with a code', { message: 'm', code: 'context_length_exceeded' }, 'model_bad_request'],
    ['a streamed object with a numeric code', { message: 'm', code: 429 }, 'model_rate_limited'],
    ['a streamed object that says nothing', { message: 'm' }, 'model_unavailable'],
    ['nothing at all', undefined, 'model_response_invalid'],
  ])('%s', (_name, error, code) => {
    expect(classify(error)).toMatchObject({ code, facts: { provider: 'acme' } });
  });

  it('our own error stays as it is', () => {
    const error = modelStalled('quiet');
    expect(classifyModelError(error, context)).toBe(error);
  });
});

describe('what is shown', () => {
  it.each([
    'Incorrect API key provided: sk-proj-abc***********wxyz.',
    'Authorization: Bearer abcDEF123',
    '{"api_key": "hunter2"}',
    'x-api-key=abcDEF123 is wrong',
    'invalid AIzaSyA1234567890abcdefghijk',
    'token eyJhbGciOi.eyJzdWIi.c2ln is expired',
    'password: abcDEF123',
    'key_live_0123456789 was revoked',
    'the session 0123456789abcdef0123456789abcdef is unknown',
    'hunter2',
  ])('no credential: %s', (message) => {
    const { detail, facts } = classify(callError(400, { message }));
    const secrets = /sk-proj|wxyz|abcDEF123|hunter2|AIza|eyJ|0123456789/;
    expect(detail + JSON.stringify(facts)).not.toMatch(secrets);
    expect(detail).toContain('[redacted]');
  });

  it('ordinary words stay', () => {
    const message =
      'messages.1.content: This model supports at most 8192 tokens, and claude-sonnet-4-5-20250929 is one.';
    expect(classify(callError(400, { message })).detail).toBe(`acme answered 400: ${message}`);
  });

  it('at most 500 characters of what the provider said, on one line', () => {
    const { detail } = classify(callError(400, { message: `a\n${'😀 '.repeat(1000)}` }));
    expect(Array.from(detail)).toHaveLength('acme answered 400: '.length + 500);
    expect(detail).not.toMatch(/\n|\ud83d$/);
  });

  it('a request id, where it looks like one, and nothing else of the headers', () => {
    const good = classify(callError(500, { headers: { 'request-id': 'req_011' } })).facts;
    expect(good).toEqual({ provider: 'acme', status: 500, request_id: 'req_011' });
    expect(
      classify(callError(500, { headers: { 'x-request-id': 'a b <script>' } })).facts.request_id,
    ).toBeUndefined();
  });
});
