/** What every request passes on its way in and out, in the order of `app.ts`. */

import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { routePath } from 'hono/route';
import { PerchError } from '../../durable/errors.ts';
import { authenticate, requireScope, type Scope } from '../auth/index.ts';
import { readConfig } from '../config.ts';
import type { AppEnv } from './route.ts';
import { scrubSecrets } from './scrub.ts';

type Middleware = MiddlewareHandler<AppEnv>;

const PREFLIGHT_SECONDS = 600;

/** Nothing here is to be framed, sniffed, cached by others or run in a page; a route may say otherwise for itself. */
const SECURITY_HEADERS: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
};

/** An id of our own making for each request; a caller's is not taken over, since it goes into log lines. */
export const identifyRequest: Middleware = async function identifyRequest(c, next) {
  const id = crypto.randomUUID();
  c.set('requestId', id);
  await next();
  // An upgrade's response is the object's, and its headers cannot be set.
  if (c.res.status === 101) return;
  const { headers } = c.res;
  for (const [name, value] of Object.entries(SECURITY_HEADERS))
    if (!headers.has(name)) headers.set(name, value);
  headers.set('x-request-id', id);
};

/** One line of JSON a request, when its head is answered. No header, body or query of the request is in it. */
export const logRequest: Middleware = async function logRequest(c, next) {
  const started = Date.now();
  await next();
  const { caller }: Partial<AppEnv['Variables']> = c.var;
  const line = {
    level: c.res.status >= 500 ? 'error' : 'info',
    msg: 'request',
    time: new Date(started).toISOString(),
    request: c.var.requestId,
    method: c.req.method,
    route: routePath(c, -1),
    status: c.res.status,
    ms: Date.now() - started,
    tenant: caller?.tenant ?? null,
    key: caller?.keyId ?? null,
    ...describeError(c.error),
  };
  console.log(JSON.stringify(line));
};

export const configure: Middleware = async function configure(c, next) {
  c.set('config', readConfig(c.env));
  await next();
};

/** No origin is allowed unless the deployment lists it. An upgrade is checked by its route. */
export const answerCors: Middleware = async function answerCors(c, next) {
  const origin = c.req.header('origin');
  if (origin === undefined || c.req.header('upgrade') !== undefined) return next();
  if (!c.var.config.corsOrigins.includes(origin)) return next();
  return allowOrigin(c, next);
};

const allowOrigin = cors({
  // Only an origin on the deployment's list gets here.
  origin: (origin) => origin,
  allowMethods: ['GET', 'POST', 'PUT', 'DELETE'],
  allowHeaders: [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'Last-Event-ID',
    'Prefer',
  ],
  exposeHeaders: [
    'ETag',
    'Location',
    'Preference-Applied',
    'Retry-After',
    'WWW-Authenticate',
    'X-Request-Id',
  ],
  maxAge: PREFLIGHT_SECONDS,
});

/** Sets the caller, whose key has the scope. */
export function authorize(scope: Scope): Middleware {
  return async function authorizeCaller(c, next) {
    const { keys, keyCache } = c.var.config;
    const caller = await authenticate(c.req.header('authorization'), keys, keyCache);
    c.set('caller', caller);
    requireScope(caller, scope);
    await next();
  };
}

function describeError(error: Error | undefined): { code?: string; error?: string } {
  if (error === undefined) return {};
  if (error instanceof PerchError) return { code: error.data.code };
  return { code: 'internal_error', error: scrubSecrets(error.stack ?? String(error)) };
}
