import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { resolveDeployment } from '../../durable/composition.ts';
import { createApp } from '../../worker/app.ts';
import { testDeployment } from '../support/deployment.ts';
import { ORIGIN, readProblem, seedKey, uniqueTenant } from '../support/http.ts';

const app = createApp(resolveDeployment(testDeployment));

/** A request to a worker whose vars differ. */
async function callWith(
  vars: Record<string, unknown>,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
) {
  const request = new Request(`${ORIGIN}${path}`, { method, headers });
  return app.fetch(request, { ...env, ...vars }, createExecutionContext());
}

afterEach(() => vi.restoreAllMocks());

describe('a deployment', () => {
  it.each([undefined, '', 'short'])(
    'whose secret is %j refuses every request and says how to set it',
    async (secret) => {
      const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
      for (const path of ['/healthz', '/', '/v1/sessions', '/nowhere']) {
        const answer = await callWith({ OBJECT_NAME_SECRET: secret }, path);
        expect(await readProblem(answer)).toMatchObject({
          status: 500,
          code: 'misconfigured',
          variables: ['OBJECT_NAME_SECRET'],
        });
      }
      expect(logged.mock.calls.join()).toContain('OBJECT_NAME_SECRET');
      if (secret) expect(logged.mock.calls.join()).not.toContain(secret);
    },
  );

  it('lets in the origins that it lists, and asks them for nothing but the key', async () => {
    const vars = { CORS_ORIGINS: 'https://app.example, https://other.example' };
    const asks = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const preflight = await callWith(
      vars,
      '/v1/sessions',
      { origin: 'https://app.example', ...asks },
      'OPTIONS',
    );
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const refused = await callWith(vars, '/v1/sessions', { origin: 'https://app.example' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(refused.headers.get('vary')).toContain('Origin');
    const other = await callWith(vars, '/v1/sessions', { origin: 'https://app.example.evil' });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('the log line of a request', () => {
  it('says who asked for what, and nothing that was secret', async () => {
    const logged = vi.spyOn(console, 'log').mockImplementation(() => {});
    const tenant = uniqueTenant();
    const key = await seedKey(tenant);
    const answer = await callWith({}, '/v1/sessions/ses_x?token=abc', { authorization: `Bearer ${key}` });
    expect(answer.status).toBe(404);
    expect(logged).toHaveBeenCalledOnce();
    const text = String(logged.mock.calls[0]?.[0]);
    expect(JSON.parse(text)).toMatchObject({
      level: 'info',
      msg: 'request',
      request: answer.headers.get('x-request-id'),
      method: 'GET',
      route: '/v1/sessions/:id',
      status: 404,
      tenant,
      key: expect.stringMatching(/^key_/),
      code: 'session_not_found',
    });
    for (const secret of [key, 'token', 'ses_x']) expect(text).not.toContain(secret);
  });

  it('has the reason of an unexpected error, which the caller does not get', async () => {
    const logged = vi.spyOn(console, 'log').mockImplementation(() => {});
    const broken = {
      idFromName: () => {
        throw new Error('the namespace is broken: Bearer abcdefgh');
      },
      get: () => null,
    };
    const key = await seedKey(uniqueTenant());
    const answer = await callWith({ SESSIONS: broken }, '/v1/sessions/x', { authorization: `Bearer ${key}` });
    expect(await answer.text()).not.toContain('namespace');
    const text = String(logged.mock.calls[0]?.[0]);
    expect(JSON.parse(text)).toMatchObject({ level: 'error', status: 500, code: 'internal_error' });
    expect(text).toContain('the namespace is broken: [secret]');
  });
});
