import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sessionView } from '../../durable/rpc.ts';
import {
  call,
  openSession,
  readJsonAs,
  readProblem,
  seedKey,
  uniqueSession,
  uniqueTenant,
} from '../support/http.ts';

const listing = z.object({ data: z.array(z.looseObject({ id: z.string() })), next: z.string().nullable() });

/** The whole list, page by page. */
async function listAll(key: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const query: string = after === '' ? '' : `&after=${after}`;
    const page: z.infer<typeof listing> = await readJsonAs(
      await call(`/v1/sessions?limit=${limit}${query}`, { key }),
      200,
      listing,
    );
    expect(page.data.length).toBeLessThanOrEqual(limit);
    ids.push(...page.data.map(({ id }) => id));
    after = page.next;
  }
  return ids;
}

describe('a session', () => {
  it('is created as asked, and says where it is', async () => {
    const key = await seedKey(uniqueTenant());
    const body = { agent: 'plain', cwd: '/work', metadata: { ticket: 'T-1' }, model: 'offline/demo' };
    const answer = await call('/v1/sessions', { key, body });
    const created = await readJsonAs(answer, 201, sessionView);
    expect(created).toMatchObject({ ...body, status: 'idle', turns: 0, queued: 0 });
    const nothing = { steps: 0, tool_calls: 0, wall_ms: 0, tokens: 0, micro_usd: 0 };
    expect(created).toMatchObject({ spent: { turn: null, session: nothing }, parent: null });
    expect(created.budgets.turn.steps).toBeGreaterThan(0);
    expect(created.id).toMatch(/^ses_[A-Za-z0-9_-]{22}$/);
    expect(answer.headers.get('location')).toBe(`/v1/sessions/${created.id}`);
    const read = await readJsonAs(await call(`/v1/sessions/${created.id}`, { key }), 200, sessionView);
    expect(read).toEqual(created);
  });

  it('may be named by the client, once', async () => {
    const key = await seedKey(uniqueTenant());
    const id = await openSession(key, { id: 'my_session-1' });
    expect(id).toBe('my_session-1');
    const again = await call('/v1/sessions', { key, body: { id } });
    expect(await readProblem(again)).toMatchObject({ status: 409, code: 'session_exists' });
  });

  it.each([
    [{ agent: 'nobody' }, 422, 'unknown_agent'],
    [{ model: 'nowhere/model' }, 422, 'unknown_model'],
    [{ model: 'no-slash' }, 400, 'invalid_request'],
    [{ id: 'a b' }, 400, 'invalid_request'],
    [{ id: 'x'.repeat(65) }, 400, 'invalid_request'],
    [{ metadata: { a: 1 } }, 400, 'invalid_request'],
    [{ tenant: 'another' }, 400, 'invalid_request'],
    [{ persona: 'You are {{nobody}}.' }, 422, 'prompt_unknown_variable'],
  ])('is not created from %j', async (body, status, code) => {
    const key = await seedKey(uniqueTenant());
    const headers = { 'idempotency-key': 'k' };
    const refused = await call('/v1/sessions', { key, body: { id: 'refused', ...body }, headers });
    expect(await readProblem(refused)).toMatchObject({ status, code });
    expect((await call('/v1/sessions/refused', { key })).status).toBe(404);
  });

  it('is gone when it is erased, from everywhere', async () => {
    const key = await seedKey(uniqueTenant());
    const id = await openSession(key);
    await expect.poll(() => listAll(key, 10)).toEqual([id]);
    expect((await call(`/v1/sessions/${id}`, { key, method: 'DELETE' })).status).toBe(204);
    expect((await call(`/v1/sessions/${id}`, { key, method: 'DELETE' })).status).toBe(404);
    expect((await call(`/v1/sessions/${id}/export`, { key })).status).toBe(404);
    expect(await listAll(key, 10)).toEqual([]);
  });
});

describe('the list of sessions', () => {
  it('is newest first, in pages that lose and repeat nothing', async () => {
    const key = await seedKey(uniqueTenant());
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.push(await openSession(key, { id: `s-${i}` }));
    await expect.poll(() => listAll(key, 100)).toHaveLength(7);
    const whole = await listAll(key, 100);
    expect(new Set(whole)).toEqual(new Set(ids));
    for (const limit of [1, 2, 3, 7]) expect(await listAll(key, limit)).toEqual(whole);
  });

  it('refuses a cursor that it did not give', async () => {
    const key = await seedKey(uniqueTenant());
    for (const after of ['x', 'ses_1', '1.', "1.a'b"]) {
      const answer = await call(`/v1/sessions?after=${encodeURIComponent(after)}`, { key });
      expect(await readProblem(answer)).toMatchObject({
        code: 'invalid_request',
        errors: [{ path: 'after' }],
      });
    }
  });
});

describe('an Idempotency-Key', () => {
  it('makes one session of a creation that is sent again', async () => {
    const key = await seedKey(uniqueTenant());
    const request = { key, body: { agent: 'plain' }, headers: { 'idempotency-key': 'create-1' } };
    const answers = await Promise.all([1, 2, 3].map(() => call('/v1/sessions', request)));
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(bodies).size).toBe(1);
    const later = await call('/v1/sessions', request);
    expect(await later.text()).toBe(bodies[0]);
    await expect.poll(() => listAll(key, 10)).toHaveLength(1);
  });

  it('is refused with another body, and is a key of its tenant alone', async () => {
    const [key, other] = [await seedKey(uniqueTenant()), await seedKey(uniqueTenant())];
    const headers = { 'idempotency-key': 'create-2' };
    const first = await readJsonAs(
      await call('/v1/sessions', { key, body: { agent: 'plain' }, headers }),
      201,
      sessionView,
    );
    const changed = await call('/v1/sessions', { key, body: { agent: 'demo' }, headers });
    expect(await readProblem(changed)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const theirs = await call('/v1/sessions', { key: other, body: { agent: 'demo' }, headers });
    expect((await readJsonAs(theirs, 201, sessionView)).id).not.toBe(first.id);
  });

  it('is checked', async () => {
    const key = await seedKey(uniqueTenant());
    for (const value of ['a b', 'x'.repeat(256)]) {
      const answer = await call('/v1/sessions', { key, body: {}, headers: { 'idempotency-key': value } });
      expect(await readProblem(answer)).toMatchObject({ code: 'invalid_request' });
    }
  });

  it('gives a message that is sent again its first receipt, and answers it once', async () => {
    const key = await seedKey(uniqueTenant());
    const path = `/v1/sessions/${await openSession(key)}`;
    const request = { key, body: { text: 'once' }, headers: { 'idempotency-key': 'message-1' } };
    const answers = await Promise.all([1, 2, 3].map(() => call(`${path}/messages`, request)));
    const receipts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(receipts).size).toBe(1);
    const changed = await call(`${path}/messages`, { ...request, body: { text: 'twice' } });
    expect(await readProblem(changed)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    await expect
      .poll(async () => (await readJsonAs(await call(path, { key }), 200, sessionView)).status)
      .toBe('idle');
    expect((await readJsonAs(await call(path, { key }), 200, sessionView)).turns).toBe(1);
  });
});

it('previews a prompt without a session, and names the section that cannot be rendered', async () => {
  const key = await seedKey(uniqueTenant());
  const preview = await call('/v1/prompt/preview', { key, body: { agent: 'plain', text: 'hello' } });
  expect(preview.status).toBe(200);
  expect(await preview.text()).toContain('You are the plain agent of the blue team.');
  const broken = await call('/v1/prompt/preview', { key, body: { agent: 'unknown-variable' } });
  expect(await readProblem(broken)).toMatchObject({ status: 422, code: 'prompt_unknown_variable' });
  const nobody = await call('/v1/prompt/preview', { key, body: { agent: 'nobody' } });
  expect(await readProblem(nobody)).toMatchObject({ code: 'unknown_agent' });
});

it('lists no skills where none are published, and says so', async () => {
  const key = await seedKey(uniqueTenant());
  const answer = await readJsonAs(
    await call('/v1/skills', { key }),
    200,
    z.looseObject({ data: z.array(z.json()) }),
  );
  expect(answer).toMatchObject({ data: [], manifest: null, fault: { code: 'skill_bundle_missing' } });
});

it('exports the log as JSON Lines', async () => {
  const key = await seedKey(uniqueTenant());
  const id = await openSession(key, { id: uniqueSession() });
  const answer = await call(`/v1/sessions/${id}/export`, { key });
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = new TextDecoder()
    .decode(await answer.arrayBuffer())
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ seq: 1, type: 'session/created' }]);
});
