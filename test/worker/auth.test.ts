import { describe, expect, it } from 'vitest';
import { hashKey, nameKeyEntry } from '../../worker/auth/key-format.ts';
import { call, readProblem, seedKey, testConfig, uniqueSession, uniqueTenant } from '../support/http.ts';

describe('an API key', () => {
  it('is needed on every route of /v1, and one body answers for all that is wrong with it', async () => {
    const tenant = uniqueTenant();
    const revoked = await seedKey(tenant, { revoked_at: new Date(0).toISOString() });
    const unknown = `perch_${'A'.repeat(43)}`;
    const attempts = [undefined, unknown, revoked, 'nonsense', `${unknown}A`];
    const answers = await Promise.all(attempts.map((key) => call('/v1/sessions', { key })));
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
    const [absent, ...wrong] = await Promise.all(answers.map(readProblem));
    expect(absent?.code).toBe('unauthenticated');
    expect(new Set(wrong.map((problem) => JSON.stringify(problem))).size).toBe(1);
  });

  it('works until it is revoked', async () => {
    const tenant = uniqueTenant();
    const key = await seedKey(tenant);
    expect((await call('/v1/sessions', { key })).status).toBe(200);
    const { keys } = testConfig();
    const name = nameKeyEntry(hashKey(key));
    const record = await keys.get<Record<string, unknown>>(name, 'json');
    await keys.put(name, JSON.stringify({ ...record, revoked_at: new Date().toISOString() }));
    expect((await call('/v1/sessions', { key })).status).toBe(401);
  });

  it('needs the scope of the route, and is told which', async () => {
    const key = await seedKey(uniqueTenant(), { scopes: ['sessions:read'] });
    const path = `/v1/sessions/${uniqueSession()}`;
    const needed: [string, string, string][] = [
      ['POST', '/v1/sessions', 'sessions:write'],
      ['DELETE', path, 'sessions:write'],
      ['POST', `${path}/messages`, 'sessions:write'],
      ['POST', `${path}/cancel`, 'sessions:write'],
      ['GET', `${path}/prompt`, 'prompt:read'],
      ['POST', '/v1/prompt/preview', 'prompt:read'],
      ['GET', '/v1/skills', 'skills:read'],
    ];
    for (const [method, route, scope] of needed) {
      const answer = await call(route, { key, method });
      expect(answer.status, route).toBe(403);
      expect(await readProblem(answer)).toMatchObject({ code: 'missing_scope', scope });
    }
    expect((await call('/v1/sessions', { key })).status).toBe(200);
  });

  it('is refused where its record is another key’s or is no record', async () => {
    const moved = await seedKey(uniqueTenant(), { sha256: 'f'.repeat(64) });
    expect((await call('/v1/sessions', { key: moved })).status).toBe(401);
    const { keys } = testConfig();
    await keys.put(nameKeyEntry(hashKey(moved)), 'not json');
    expect((await call('/v1/sessions', { key: moved })).status).toBe(401);
    await keys.put(nameKeyEntry(hashKey(moved)), '{"tenant":"x"}');
    expect((await call('/v1/sessions', { key: moved })).status).toBe(401);
  });

  it('is taken in any case of the scheme and from the Authorization header only', async () => {
    const key = await seedKey(uniqueTenant());
    expect((await call('/v1/sessions', { headers: { authorization: `bearer ${key}` } })).status).toBe(200);
    expect((await call('/v1/sessions', { headers: { authorization: `Basic ${key}` } })).status).toBe(401);
    expect((await call(`/v1/sessions?key=${key}`)).status).toBe(401);
  });
});
