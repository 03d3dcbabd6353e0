/** The web tools in the runtime that serves people: workerd's fetch, its streams, its decoders. */
import { describe, expect, inject, it } from 'vitest';
import { braveSearch, tavilySearch, webTools } from '../../durable/tools/web/index.ts';
import { KEYS, readWebState } from '../support/web-state.ts';
import { callTool } from './web-call.ts';

const server = inject('webServer');
const { host } = new URL(server);

function fetchPage(path: string, limits: { timeMs?: number; bodyBytes?: number } = {}) {
  return callTool(webTools({ allowHosts: [host], limits }), 'web_fetch', { url: `${server}${path}` });
}

/** Others may ask the server at the same time: what is looked for is that none of ours stays open. */
async function waitUntilIdle(): Promise<number> {
  for (let i = 0; i < 100; i += 1) {
    const { open } = await readWebState(server);
    if (open === 0) return 0;
    await scheduler.wait(20);
  }
  return (await readWebState(server)).open;
}

describe('in workerd, web_fetch', () => {
  it('makes markdown of a page', async () => {
    const answer = await fetchPage('/page');
    expect(answer.text).toContain('Title: Cafés & kitchens\n\n# How to *cook*');
    expect(answer.text).toContain('Content: text/html, ');
    expect(answer.facts).toMatchObject({ status: 200, type: 'text/html' });
  });

  it.each([301, 302, 303, 307, 308])('follows a %i by hand', async (status) => {
    const answer = await fetchPage(`/redirect/${status}?to=/text`);
    expect(answer.text).toContain(`Redirected from: ${server}/redirect/${status}?to=/text`);
    expect(answer.text).toContain('plain text');
  });

  it.each(['https://10.0.0.1/', '//[::1]/', 'http://127.0.0.1:1/', 'https://0x7f.1/', 'https://localhost/'])(
    'refuses a redirect to %s',
    async (to) => {
      expect(await fetchPage(`/redirect/302?to=${encodeURIComponent(to)}`)).toMatchObject({
        error: 'address_not_allowed',
      });
    },
  );

  it('counts redirects, and sees circles and redirects to nowhere', async () => {
    expect((await fetchPage('/hops/5')).error).toBeUndefined();
    expect((await fetchPage('/hops/6')).text).toContain('more than 5 redirects');
    expect((await fetchPage('/circle/a')).text).toContain('in a circle');
    expect((await fetchPage('/redirect/302')).text).toContain('without saying where to');
  });

  it.each([
    ['/latin-header', 'café'],
    ['/latin-silent', 'café'],
    ['/sjis', '日本'],
    ['/utf16', 'hi'],
    ['/bad-charset', 'still read'],
    ['/gzip', 'unpacked text'],
  ])('decodes %s', async (path, text) => {
    expect((await fetchPage(path)).text).toContain(`>\n${text}\n</page `);
  });

  it('stops a body at the limit, after decompression, and lets it go', async () => {
    const limits = { bodyBytes: 100_000 };
    expect(await fetchPage('/endless', limits)).toMatchObject({ error: 'fetch_too_large' });
    expect(await fetchPage('/bomb', limits)).toMatchObject({ error: 'fetch_too_large' });
    expect(await fetchPage('/bytes/100001?unannounced', limits)).toMatchObject({ error: 'fetch_too_large' });
    expect(await fetchPage('/pdf')).toMatchObject({ error: undefined });
    expect(await waitUntilIdle()).toBe(0);
  });

  it.each(['/slow', '/silent'])('gives up %s in time, and lets it go', async (path) => {
    expect((await fetchPage(path, { timeMs: 300 })).text).toBe(
      'fetch_failed: The page did not come within 0.3 s.',
    );
    expect(await waitUntilIdle()).toBe(0);
  });

  it('does not take half a page for a whole one', async () => {
    expect(await fetchPage('/cut')).toMatchObject({ error: 'fetch_failed' });
  });

  it('says that nobody is there', async () => {
    const answer = await callTool(webTools({ allowHosts: ['127.0.0.1:1'] }), 'web_fetch', {
      url: 'http://127.0.0.1:1/',
    });
    expect(answer.text).toBe('fetch_failed: 127.0.0.1:1 cannot be reached.');
  });
});

describe('in workerd, web_search', () => {
  const services = [
    braveSearch({ baseUrl: `${server}/brave` }),
    tavilySearch({ baseUrl: `${server}/tavily` }),
  ];
  const search = (env: Record<string, string>) =>
    callTool(webTools({ search: services }), 'web_search', { query: 'stew' }, { env });

  it('finds with either service', async () => {
    expect((await search({ BRAVE_SEARCH_API_KEY: KEYS.good })).text).toContain('https://soup.example.com/a');
    expect((await search({ TAVILY_API_KEY: KEYS.good })).text).toContain('https://stew.example.com/');
  });

  it('shows no key in an error', async () => {
    for (const key of [KEYS.refused, KEYS.moved, KEYS.broken, 'key\u2028with-a-line', 'key\nwith-a-line']) {
      const answer = await search({ TAVILY_API_KEY: key });
      expect(answer.error).toMatch(/^search_/);
      expect(JSON.stringify(answer)).not.toMatch(/51f0|with-a-line/);
    }
  });
});
