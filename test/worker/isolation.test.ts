import { describe, expect, it } from 'vitest';
import { call, openSession, seedKey, uniqueSession, uniqueTenant } from '../support/http.ts';

/** Every route of a session, with a request that its owner could make. */
const ROUTES: [string, string, Record<string, unknown> | undefined, Record<string, string>][] = [
  ['GET', '', undefined, {}],
  ['DELETE', '', undefined, {}],
  ['POST', '/messages', { text: 'hello' }, {}],
  ['POST', '/messages', { text: 'hello' }, { accept: 'text/event-stream' }],
  ['POST', '/messages', { text: 'hello' }, { prefer: 'wait=1' }],
  ['POST', '/messages', { text: 'hello' }, { 'idempotency-key': 'k', accept: 'text/event-stream' }],
  ['GET', '/messages', undefined, {}],
  ['DELETE', '/messages', undefined, {}],
  ['DELETE', '/messages/msg_of-another', undefined, {}],
  ['POST', '/cancel', {}, {}],
  ['POST', '/cancel', { clear_inbox: true, turn: 1 }, {}],
  ['POST', '/reset', {}, {}],
  ['POST', '/repair', {}, {}],
  ['GET', '/events', undefined, {}],
  ['GET', '/events', undefined, { accept: 'text/event-stream' }],
  ['GET', '/socket', undefined, { upgrade: 'websocket' }],
  ['GET', '/prompt', undefined, {}],
  ['GET', '/prompt?turn=1&step=1', undefined, {}],
  ['GET', '/export', undefined, {}],
];

describe("another tenant's session", () => {
  it('is the same bytes as one that never existed, on every route', async () => {
    const owner = await seedKey(uniqueTenant());
    const stranger = await seedKey(uniqueTenant());
    const session = await openSession(owner);
    const bodies = new Set<string>();
    const shapes = new Set<string>();
    for (const [method, path, body, headers] of ROUTES) {
      for (const id of [session, uniqueSession(), 'not.an.id', 'a%20b']) {
        const answer = await call(`/v1/sessions/${id}${path}`, { key: stranger, method, headers, body });
        bodies.add(await answer.text());
        const names = [...answer.headers].filter(([name]) => name !== 'x-request-id');
        shapes.add(JSON.stringify([answer.status, names]));
      }
    }
    expect([...bodies]).toEqual([expect.stringContaining('session_not_found')]);
    expect(shapes.size).toBe(1);
    expect((await call(`/v1/sessions/${session}`, { key: owner })).status).toBe(200);
  });

  it('may have the same id, and stays another session', async () => {
    const [one, other] = [await seedKey(uniqueTenant()), await seedKey(uniqueTenant())];
    const id = await openSession(one, { id: 'shared-id', metadata: { of: 'one' } });
    await openSession(other, { id, metadata: { of: 'other' } });
    const [mine, theirs] = await Promise.all(
      [one, other].map(async (key) => (await call(`/v1/sessions/${id}`, { key })).json()),
    );
    expect(mine).toMatchObject({ id, metadata: { of: 'one' } });
    expect(theirs).toMatchObject({ id, metadata: { of: 'other' } });
    expect((await call(`/v1/sessions/${id}`, { key: one, method: 'DELETE' })).status).toBe(204);
    expect((await call(`/v1/sessions/${id}`, { key: one })).status).toBe(404);
    expect((await call(`/v1/sessions/${id}`, { key: other })).status).toBe(200);
  });

  it('is not in the list', async () => {
    const [one, other] = [await seedKey(uniqueTenant()), await seedKey(uniqueTenant())];
    await openSession(one);
    expect(await (await call('/v1/sessions', { key: other })).json()).toEqual({ data: [], next: null });
  });
});
