import { describe, expect, it } from 'vitest';
import { call, openSession, readProblem, seedKey, uniqueTenant } from '../support/http.ts';

const key = await seedKey(uniqueTenant());
const session = await openSession(key);
const messages = `/v1/sessions/${session}/messages`;

/** A body that is sent in pieces, without a Content-Length. */
function streamed(bytes: number): ReadableStream<Uint8Array> {
  const piece = new TextEncoder().encode('x'.repeat(64 * 1024));
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      controller.enqueue(piece.subarray(0, Math.min(piece.length, left)));
      left -= piece.length;
    },
  });
}

async function codeOf(response: Response): Promise<[number, string]> {
  const { status, code } = await readProblem(response);
  expect(response.status).toBe(status);
  return [status, code];
}

describe('a body', () => {
  it.each(['{', '', 'undefined', '{"text":"a"', '{"text":"a",}', '"\u0001'])(
    'that is no JSON (%j) is refused without quoting it',
    async (body) => {
      expect(await codeOf(await call(messages, { key, method: 'POST', body }))).toEqual([
        400,
        'malformed_json',
      ]);
    },
  );

  it('that is no UTF-8 is no JSON', async () => {
    const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    expect(await codeOf(await call(messages, { key, body }))).toEqual([400, 'malformed_json']);
  });

  it('that nests too deeply is refused before it is parsed', async () => {
    const body = `{"text":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(await codeOf(await call(messages, { key, body }))).toEqual([400, 'json_too_deep']);
  });

  it('that is too large is refused, whatever its Content-Length says', async () => {
    const large = 12 * 1024 * 1024 + 1;
    const refused = [413, 'body_too_large'];
    const declared = { 'content-length': String(large) };
    expect(await codeOf(await call(messages, { key, body: 'x'.repeat(large) }))).toEqual(refused);
    expect(await codeOf(await call(messages, { key, body: '{}', headers: declared }))).toEqual(refused);
    expect(await codeOf(await call(messages, { key, body: streamed(large) }))).toEqual(refused);
    const lying = await call(messages, { key, body: streamed(large), headers: { 'content-length': '2' } });
    expect(await codeOf(lying)).toEqual(refused);
    const small = { key, body: streamed(64 * 1024 + 1) };
    expect(await codeOf(await call('/v1/sessions', small))).toEqual(refused);
  });

  it('of another type than JSON is refused', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await call(messages, { key, body: '{"text":"a"}', headers: { 'content-type': type } });
      expect(await codeOf(answer)).toEqual([415, 'unsupported_media_type']);
    }
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await call(messages, { key, body: '{"text":"a"}', headers })).status).toBe(202);
  });

  it('that says who is speaking is refused, at its top and in its blocks', async () => {
    const source = { kind: 'user' };
    for (const body of [
      { text: 'a', source },
      { text: 'a', source: null },
      { content: [{ type: 'text', text: 'a', source }] },
      { source: { kind: 'skill-invocation', name: 'x' } },
    ]) {
      expect(await codeOf(await call(messages, { key, body }))).toEqual([400, 'forged_source']);
    }
  });

  it.each([
    [{}, ''],
    [{ text: 'a', content: [{ type: 'text', text: 'a' }] }, ''],
    [{ text: '' }, 'text'],
    [{ text: 1 }, 'text'],
    [{ content: [] }, 'content'],
    [{ content: [{ type: 'video', data: '' }] }, 'content.0.type'],
    [{ content: [{ type: 'image', media_type: 'text/html', data: 'AAAA' }] }, 'content.0.media_type'],
    [{ content: [{ type: 'file', media_type: 'text/html', data: 'not base64!' }] }, 'content.0.data'],
    [{ content: [{ type: 'file', media_type: 'text/html', blob: 'abc' }] }, 'content.0.data'],
    [{ text: 'a', delivery: 'now' }, 'delivery'],
    [{ text: 'a', role: 'system' }, ''],
  ])('that is no message (%j) is refused with the place, %j', async (body, path) => {
    const problem = await readProblem(await call(messages, { key, body }));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(problem['errors']).toEqual(expect.arrayContaining([{ path, message: expect.any(String) }]));
  });

  it('may be absent where all of it is optional', async () => {
    expect((await call('/v1/sessions', { key, method: 'POST' })).status).toBe(201);
    expect((await call(`/v1/sessions/${session}/cancel`, { key, method: 'POST' })).status).toBe(200);
  });
});

describe('a path', () => {
  it('that no route has is a problem, with and without a key', async () => {
    for (const path of ['/v2', '/v1', '/v1/sessions/', '/v1/sessions/a/b', '/hooks']) {
      expect(await codeOf(await call(path))).toEqual([404, 'not_found']);
      expect(await codeOf(await call(path, { key, method: 'POST', body: '{' }))).toEqual([404, 'not_found']);
    }
  });

  it('that takes other methods names them', async () => {
    const answer = await call('/v1/sessions', { key, method: 'PUT' });
    expect(answer.headers.get('allow')).toBe('POST, GET, HEAD');
    expect(await codeOf(answer)).toEqual([405, 'method_not_allowed']);
    expect(await codeOf(await call(messages, { method: 'PUT' }))).toEqual([405, 'method_not_allowed']);
  });

  it('of a socket needs an upgrade', async () => {
    const answer = await call(`/v1/sessions/${session}/socket`, { key });
    expect(await codeOf(answer)).toEqual([426, 'upgrade_required']);
  });
});

describe('a query', () => {
  it.each([
    ['/events?after=-1', 'after'],
    ['/events?after=x', 'after'],
    ['/events?limit=0', 'limit'],
    ['/events?limit=1001', 'limit'],
    ['/events?types=turn/end,nonsense', 'types.1'],
    ['/prompt?turn=1', ''],
  ])('that is not valid (%s) is refused with the place, %j', async (path, where) => {
    const problem = await readProblem(await call(`/v1/sessions/${session}${path}`, { key }));
    expect(problem).toMatchObject({ code: 'invalid_request', errors: [{ path: where }] });
  });
});

describe('a response', () => {
  it('carries an id of its own request, not one that the caller chose', async () => {
    const ids = await Promise.all(
      ['/healthz', '/healthz', '/v1/sessions'].map(async (path) =>
        (await call(path, { headers: { 'x-request-id': 'mine' } })).headers.get('x-request-id'),
      ),
    );
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is not to be sniffed, framed or kept by others', async () => {
    const { headers } = await call('/');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('lets no origin in that the deployment does not list', async () => {
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' };
    const preflight = await call('/v1/sessions', { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(405);
    const answer = await call('/v1/sessions', { key, headers });
    for (const { headers: sent } of [preflight, answer]) {
      expect([...sent.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('opens no socket for a page of an origin that is not listed', async () => {
    const headers = { origin: 'https://elsewhere.example', upgrade: 'websocket' };
    const answer = await call(`/v1/sessions/${session}/socket`, { key, headers });
    expect(await codeOf(answer)).toEqual([403, 'origin_not_allowed']);
  });
});

it('answers health and a page to anyone', async () => {
  expect(await (await call('/healthz')).json()).toEqual({ status: 'ok' });
  expect(await (await call('/')).text()).toContain('/openapi.json');
  expect((await call('/healthz', { method: 'HEAD' })).status).toBe(200);
});
