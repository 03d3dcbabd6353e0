import { describe, expect, it } from 'vitest';
import { BAD_ARCHIVES } from './archive-cases.ts';
import { gzip, makeTar, makeZip } from './archives.ts';
import { openObject } from './object.ts';

const { request } = await openObject();
/** Its bytes as text: the runtime warns where `text` is called on other content. */
const textOf = async (answer: Response): Promise<string> =>
  new TextDecoder().decode(await answer.arrayBuffer());
const codeOf = async (answer: Response): Promise<unknown> => {
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  const problem: { code?: unknown } = await answer.json();
  return problem.code;
};

describe('a file over HTTP', () => {
  it('is put, read and deleted as bytes', async () => {
    const bytes = Uint8Array.from({ length: 2_500_000 }, (_, i) => (i * 7 + (i >> 9)) % 256);
    const put = await request('PUT', '/workspace/data.bin', bytes);
    expect(put.status).toBe(201);
    const info: { version: number } = await put.json();
    expect(info).toMatchObject({ path: '/workspace/data.bin', kind: 'file', bytes: bytes.length });
    expect(put.headers.get('etag')).toBe(`"${info.version}"`);
    const got = await request('GET', '/workspace/data.bin');
    expect(got.status).toBe(200);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      etag: `"${info.version}"`,
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
    });
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
    expect((await request('PUT', '/workspace/data.bin', 'other')).status).toBe(200);
    expect((await request('DELETE', '/workspace/data.bin')).status).toBe(204);
    expect((await request('GET', '/workspace/data.bin')).status).toBe(404);
    expect(await codeOf(await request('DELETE', '/workspace/data.bin'))).toBe('file_not_found');
  });

  it.each([
    ['/a%20b', '/a b'],
    ['/%C3%BC/%F0%9F%99%82', '/ü/🙂'],
    ['/100%25', '/100%'],
    ['/%252e', '/%2e'],
    ['/a%2Fb', '/a/b'],
    ['/a+b&c=d', '/a+b&c=d'],
    ['/files/files', '/files/files'],
    ['/%2e%2e/%2e%2e/x', null],
    ['/..%2f..%2fx', '/x'],
    ['/dir//deep/', '/dir/deep'],
  ])('has in its URL %s the path %s', async (url, path) => {
    const answer = await request('PUT', url, 'x');
    // The URL itself is normalised before anybody reads it, and then names no route of files.
    if (path === null) return expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ path });
    expect(await textOf(await request('GET', url))).toBe('x');
  });

  it.each([
    ['a NUL', '/a%00b'],
    ['a line end', '/a%0Ab'],
    ['bytes that are no UTF-8', '/a%FF'],
    ['a percent sign alone', '/a%zz'],
    ['a name of 300 bytes', `/${'a'.repeat(300)}`],
    ['5,000 characters', '/a'.repeat(2_500)],
  ])('cannot have a path with %s', async (_, url) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await request(method, url, method === 'PUT' ? 'x' : null);
      expect(answer.status).toBe(400);
      expect(await codeOf(answer)).toBe('path_invalid');
    }
  });

  it('may have 16,000,000 bytes and no more', { timeout: 30_000 }, async () => {
    expect((await request('PUT', '/large', new Uint8Array(16_000_000))).status).toBe(201);
    expect((await (await request('GET', '/large')).arrayBuffer()).byteLength).toBe(16_000_000);
    const over = await request('PUT', '/large', new Uint8Array(16_000_001));
    expect(over.status).toBe(413);
    expect(await codeOf(over)).toBe('body_too_large');
    expect((await request('DELETE', '/large')).status).toBe(204);
  });

  it('is written only where If-Match and If-None-Match hold', async () => {
    const put = (headers: Record<string, string>, body = 'x') => request('PUT', '/cond', body, headers);
    expect(await codeOf(await put({ 'if-match': '*' }))).toBe('precondition_failed');
    expect((await put({ 'if-none-match': '*' }, '1')).status).toBe(201);
    const again = await put({ 'if-none-match': '*' }, '2');
    expect(again.status).toBe(412);
    const tag = (await request('GET', '/cond')).headers.get('etag') ?? '';
    expect((await put({ 'if-match': '"0"' })).status).toBe(412);
    expect((await put({ 'if-match': 'W/"1"' })).status).toBe(412);
    expect((await put({ 'if-match': 'anything' })).status).toBe(412);
    expect((await put({ 'if-match': `"0", ${tag}` }, '2')).status).toBe(200);
    expect((await put({ 'if-match': tag }, '3')).status).toBe(412);
    expect((await request('DELETE', '/cond', null, { 'if-match': tag })).status).toBe(412);
    expect(await textOf(await request('GET', '/cond'))).toBe('2');
  });

  it('is not sent again to those who have it', async () => {
    await request('PUT', '/cached', 'x');
    const tag = (await request('GET', '/cached')).headers.get('etag') ?? '';
    for (const known of [tag, `W/${tag}`, `"9999999", ${tag}`, '*']) {
      const answer = await request('GET', '/cached', null, { 'if-none-match': known });
      expect(answer.status).toBe(304);
      expect(await answer.text()).toBe('');
      expect(answer.headers.get('etag')).toBe(tag);
    }
    await request('PUT', '/cached', 'y');
    expect((await request('GET', '/cached', null, { 'if-none-match': tag })).status).toBe(200);
    expect((await request('GET', '/cached', null, { 'if-match': tag })).status).toBe(412);
  });

  it('is no directory', async () => {
    await request('PUT', '/dir/file', 'x');
    expect(await codeOf(await request('GET', '/dir'))).toBe('is_a_directory');
    expect(await codeOf(await request('PUT', '/dir', 'x'))).toBe('is_a_directory');
    expect(await codeOf(await request('PUT', '/dir/file/below', 'x'))).toBe('not_a_directory');
    expect(await codeOf(await request('DELETE', '/dir'))).toBe('directory_not_empty');
    expect(await codeOf(await request('DELETE', '/workspace?recursive=true'))).toBe('path_invalid');
    expect(await codeOf(await request('DELETE', '/dir?recursive=maybe'))).toBe('invalid_request');
    expect((await request('DELETE', '/dir?recursive=true')).status).toBe(204);
    expect((await request('GET', '/dir/file')).status).toBe(404);
  });
});

describe('the list of files', () => {
  it('goes by prefix and page by page', async () => {
    const { request: ask } = await openObject();
    for (const name of ['a/1', 'a/2', 'b/1', 'b.txt']) await ask('PUT', `/workspace/${name}`, name);
    const seen: string[] = [];
    for (let after: string | null = '', n = 0; after !== null && n < 20; n++) {
      const query: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const page: { data: { path: string }[]; next: string | null } = await (
        await ask('GET', `?limit=2${query}`)
      ).json();
      seen.push(...page.data.map(({ path }) => path));
      after = page.next;
    }
    expect(seen).toEqual([
      '/workspace',
      ...['a', 'a/1', 'a/2', 'b', 'b.txt', 'b/1'].map((name) => `/workspace/${name}`),
    ]);
    const under: { data: unknown[] } = await (await ask('GET', '?prefix=/workspace/b')).json();
    expect(under.data).toHaveLength(3);
  });

  it.each(['?limit=0', '?limit=1001', '?prefix=workspace', '?after='])('refuses %s', async (query) => {
    expect(await codeOf(await request('GET', query))).toBe('invalid_request');
  });
});

describe('an archive over HTTP', () => {
  const ENTRIES = [
    { name: 'src/a.ts', content: 'a' },
    { name: 'ü.bin', content: new Uint8Array([0, 255]) },
  ];

  it.each([
    ['tar', makeTar(ENTRIES)],
    ['tar.gz', gzip(makeTar(ENTRIES))],
    ['zip', makeZip(ENTRIES)],
  ])('of the kind %s is brought in', async (kind, bytes) => {
    const answer = await request('POST', `?directory=in/${kind}`, bytes);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      directory: `/workspace/in/${kind}`,
      files: 2,
      bytes: 3,
      replaced: 0,
    });
    const file = await request('GET', `/workspace/in/${kind}/${encodeURIComponent('ü.bin')}`);
    expect([...new Uint8Array(await file.arrayBuffer())]).toEqual([0, 255]);
  });

  it('is brought in once for one Idempotency-Key', async () => {
    const send = (directory: string) =>
      request('POST', `?directory=${directory}`, makeZip(ENTRIES), { 'idempotency-key': 'k1' });
    const first = await (await send('once')).json();
    await request('DELETE', '/workspace/once/src/a.ts');
    expect(await (await send('once')).json()).toEqual(first);
    expect((await request('GET', '/workspace/once/src/a.ts')).status).toBe(404);
    expect(await codeOf(await send('elsewhere'))).toBe('idempotency_conflict');
  });

  it('of over 16,000,000 bytes is refused', async () => {
    expect(await codeOf(await request('POST', '', new Uint8Array(16_000_001)))).toBe('body_too_large');
    expect(await codeOf(await request('POST', '', null))).toBe('archive_invalid');
  });

  it.each(BAD_ARCHIVES)('is refused: $what', { timeout: 30_000 }, async ({ make, says }) => {
    const { request: ask, within } = await openObject();
    const answer = await ask('POST', '', make());
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({
      code: 'archive_invalid',
      detail: expect.stringMatching(says),
    });
    expect(await within((workspace) => workspace.totals())).toEqual({ files: 0, bytes: 0 });
  });
});
