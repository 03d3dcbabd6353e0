/** Errors as RFC 9457 problem documents. */
import { z } from 'zod';
import type { ErrorData } from '../../durable/errors.ts';

/**
 * `instance` is left out: the request's id is in `X-Request-Id`, so that two refusals for the same reason are the
 * same bytes and tell nobody whose session was asked for.
 */
export const problem = z
  .looseObject({
    type: z.string().describe('`urn:perch:problem:<code>`: stable'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('The last part of `type`'),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('With `invalid_request`: what is wrong, and where'),
  })
  .describe('RFC 9457. Facts that the code promises are further members.');
export type Problem = z.infer<typeof problem>;

/** The document: the facts first, so that none can take the place of a member of the standard. */
export function buildProblem(error: ErrorData): Problem {
  const { code, status, title, detail, facts } = error;
  return { ...facts, type: `urn:perch:problem:${code}`, title, status, detail, code };
}

export function answerProblem(error: ErrorData): Response {
  const headers = new Headers({ 'content-type': 'application/problem+json', ...describeInHeaders(error) });
  return new Response(JSON.stringify(buildProblem(error)), { status: error.status, headers });
}

/** What HTTP itself asks of a status: RFC 6750 section 3 (401, 403), RFC 9110 sections 10.2 and 15.5 (405, 426, 503). */
function describeInHeaders({ status, facts }: ErrorData): Record<string, string> {
  switch (status) {
    case 401:
      return { 'www-authenticate': 'Bearer realm="perch"' };
    case 403:
      return typeof facts['scope'] === 'string'
        ? {
            'www-authenticate': `Bearer realm="perch", error="insufficient_scope", scope="${facts['scope']}"`,
          }
        : {};
    case 405:
      return Array.isArray(facts['allow']) ? { allow: facts['allow'].join(', ') } : {};
    case 426:
      return { upgrade: 'websocket', connection: 'Upgrade' };
    case 503:
      return { 'retry-after': '1' };
    default:
      return {};
  }
}
