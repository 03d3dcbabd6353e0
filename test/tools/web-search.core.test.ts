/** `web_search` against services on loopback that answer as the real ones document it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveDeployment } from '../../durable/composition.ts';
import { offline } from '../../durable/models/index.ts';
import { assemble, planPrompt, render } from '../../durable/prompt/index.ts';
import type { AssembleContext } from '../../durable/prompt/types.ts';
import { braveSearch, dnsOverHttps, tavilySearch, webTools } from '../../durable/tools/web/index.ts';
import { toPlainText } from '../../durable/tools/web/search-provider.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';
import { KEYS, readWebState } from '../support/web-state.ts';
import { NO_SKILLS } from './no-skills.ts';
import { callTool, findTool } from './web-call.ts';

let server: WebServer;
beforeAll(async () => {
  server = await startWebServer();
});
afterAll(() => server.close());

function plugin() {
  const brave = braveSearch({ baseUrl: `${server.url}/brave` });
  return webTools({ search: [brave, tavilySearch({ baseUrl: `${server.url}/tavily` })] });
}

function search(env: Record<string, unknown>, input: object = { query: 'soup recipes' }) {
  return callTool(plugin(), 'web_search', input, { env });
}

describe('web_search', () => {
  it('is offered only where a service has its key', () => {
    const tool = findTool(plugin(), 'web_search');
    const isOffered = (env: Record<string, unknown>) => tool.available?.({ skills: NO_SKILLS, env });
    expect(isOffered({})).toBe(false);
    expect(isOffered({ BRAVE_SEARCH_API_KEY: '', TAVILY_API_KEY: '  ' })).toBe(false);
    expect(isOffered({ BRAVE_SEARCH_API_KEY: 7 })).toBe(false);
    expect(isOffered({ BRAVE_SEARCH_API_KEY: 'k' })).toBe(true);
    expect(isOffered({ TAVILY_API_KEY: 'k' })).toBe(true);
    expect(findTool(webTools(), 'web_fetch').available).toBeUndefined();
    expect(webTools({ search: [] }).tools?.map(({ name }) => name)).toEqual(['web_fetch']);
  });

  it('is in a step only where the deployment has a key, and the guidance names no tool that is not', async () => {
    const deployment = resolveDeployment({
      agents: [{ name: 'one', model: 'offline/instant', persona: 'P.', tools: 'all' }],
      plugins: [plugin()],
      providers: [offline()],
    });
    const toolsWith = async (env: Record<string, unknown>) => {
      const plan = planPrompt(deployment, deployment.agent('one'), null);
      const context: AssembleContext = {
        session: { id: 's', agent: 'one', cwd: '/workspace', metadata: {} },
        call: { provider: 'offline', model: 'instant', options: {} },
        skills: NO_SKILLS,
        signal: new AbortController().signal,
      };
      const { assembly } = await assemble(plan, context, env);
      expect(render(assembly).text).not.toMatch(/web_|{{/);
      return assembly.tools.map(({ tool }) => tool.name);
    };
    expect(await toolsWith({})).toEqual(['web_fetch']);
    expect(await toolsWith({ TAVILY_API_KEY: 'k' })).toEqual(['web_fetch', 'web_search']);
  });

  it('says which key it misses where it is called all the same', async () => {
    expect(await search({})).toMatchObject({
      error: 'search_not_configured',
      text: 'search_not_configured: No search service has its key here: BRAVE_SEARCH_API_KEY or TAVILY_API_KEY.',
    });
  });

  it('asks Brave as its reference says, and shows titles, addresses and snippets in plain text', async () => {
    const answer = await search({ BRAVE_SEARCH_API_KEY: KEYS.good }, { query: 'soup & stew', count: 3 });
    const lines = answer.text.split('\n');
    expect(lines[0]).toBe('Brave Search, for: soup & stew');
    expect(answer.text).toContain("1. Soup & stew\n   https://soup.example.com/a\n   Boil 'it'.");
    expect(answer.text).toMatch(/2\. Bread\n {3}https:\/\/bread\.example\.com\/\n {3}(?:long )+long…/);
    expect(answer.text).toContain('3. More 0\n   https://more.example.com/0');
    expect(answer.text).not.toContain('javascript:');
    expect(answer.text).not.toContain('More 1');
    expect(answer.facts).toEqual({ service: 'Brave Search', results: 3 });
    const asked = (await readWebState(server.url)).requests.find(({ path }) =>
      path.includes('soup+%26+stew'),
    );
    expect(asked?.method).toBe('GET');
    expect(asked?.path).toBe(
      '/brave/res/v1/web/search?q=soup+%26+stew&count=3&result_filter=web&text_decorations=false',
    );
    expect(asked?.headers).toMatchObject({ 'x-subscription-token': KEYS.good, accept: 'application/json' });
  });

  it('asks Tavily as its reference says', async () => {
    const answer = await search({ TAVILY_API_KEY: ` ${KEYS.good}\n` }, { query: 'stew' });
    expect(answer.text).toContain('Tavily, for: stew');
    expect(answer.text).toContain('1. Stew\n   https://stew.example.com/\n   Simmer for an hour.');
    const asked = (await readWebState(server.url)).requests.find(({ path }) => path === '/tavily/search');
    expect(asked?.method).toBe('POST');
    expect(JSON.parse(asked?.body ?? '')).toEqual({ query: 'stew', max_results: 8, search_depth: 'basic' });
    expect(asked?.headers).toMatchObject({
      authorization: `Bearer ${KEYS.good}`,
      'content-type': 'application/json',
    });
  });

  it('takes the first service that has a key, in the order of the deployment', async () => {
    const answer = await search({ BRAVE_SEARCH_API_KEY: KEYS.good, TAVILY_API_KEY: KEYS.good });
    expect(answer.facts).toMatchObject({ service: 'Brave Search' });
  });

  it.each([
    [{ query: '' }],
    [{ query: '  ' }],
    [{ query: 'x'.repeat(401) }],
    [{ query: 'w '.repeat(51) }],
    [{ query: 'x', count: 0 }],
    [{ query: 'x', count: 21 }],
    [{ query: 'x', site: 'y' }],
  ])('does not take %j', async (input) => {
    expect(await search({ TAVILY_API_KEY: KEYS.good }, input)).toMatchObject({ error: 'invalid_arguments' });
  });
});

describe.each([
  ['Brave Search', 'BRAVE_SEARCH_API_KEY'],
  ['Tavily', 'TAVILY_API_KEY'],
])('%s', (name, variable) => {
  const ask = (key: string) => search({ [variable]: key });

  it('that finds nothing is an answer', async () => {
    expect(await ask(KEYS.empty)).toMatchObject({
      error: undefined,
      text: `${name} finds nothing for: soup recipes`,
    });
  });

  it.each([
    ['refused', `does not take the key in ${variable}`],
    ['limited', `limits the rate of searches (429). Try again in ${name === 'Tavily' ? 7 : 1} s`],
    ['exhausted', name === 'Tavily' ? "the plan's usage limit is reached" : 'does not take this query (422)'],
    ['broken', 'has a fault of its own (502)'],
    ['garbage', 'answered with something else than JSON'],
    ['shapeless', 'in a form that is not its documented one'],
    ['moved', 'is not where it is expected (302)'],
    ['echoing', 'does not take this query (400)'],
  ] as const)('that answers a key as “%s” is a clear error, without the key', async (kind, text) => {
    const answer = await ask(KEYS[kind]);
    expect(answer.error).toBe('search_failed');
    expect(answer.text).toContain(name);
    expect(answer.text).toContain(text);
    expect(JSON.stringify(answer)).not.toContain(KEYS[kind]);
  });

  it.each(['key\u2028with-a-line', 'key\nwith-a-line', 'key with a space', 'kéy-with-a-line'])(
    'is not asked with what can be no key, which a runtime might print: %j',
    async (key) => {
      const answer = await ask(key);
      expect(answer.text).toBe(`search_not_configured: What ${variable} holds is no key of ${name}.`);
    },
  );

  it('is left when the call is cancelled', async () => {
    const stop = new AbortController();
    const running = callTool(
      plugin(),
      'web_search',
      { query: 'x' },
      { env: { [variable]: KEYS.silent }, signal: stop.signal },
    );
    setTimeout(() => stop.abort(new DOMException('cancelled', 'AbortError')), 50);
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('plain text', () => {
  it.each([
    ['a <b>b</b> &lt;i&gt; &amp;amp; &#65;&#x42; &nope; 1 < 2', 'a b <i> &amp; AB &nope; 1 < 2'],
    ['&#0; &#xD800; &#x110000; x', '&#0; \uFFFD &#x110000; x'],
    ['  two\n lines ', 'two lines'],
  ])('of %j is %j', (text, expected) => {
    expect(toPlainText(text)).toBe(expected);
  });
});

describe('a look-up over HTTPS', () => {
  const answering = (bodies: Record<string, unknown>) =>
    dnsOverHttps('https://dns.example.com/q', async (url) => {
      const type = new URL(url).searchParams.get('type') ?? '';
      return new Response(JSON.stringify(bodies[type] ?? { Status: 0 }));
    });
  const { signal } = new AbortController();

  it('gives the addresses of both kinds, and not the names between', async () => {
    const resolve = answering({
      A: {
        Status: 0,
        Answer: [
          { name: 'a', type: 5, TTL: 1, data: 'b.example.com.' },
          { name: 'b', type: 1, TTL: 1, data: '192.0.2.1' },
        ],
      },
      AAAA: { Status: 0, Answer: [{ name: 'b', type: 28, TTL: 1, data: '2001:db8::1' }] },
    });
    expect(await resolve('a.example.com', signal)).toEqual(['192.0.2.1', '2001:db8::1']);
  });

  it('of a name that there is not gives none', async () => {
    expect(await answering({ A: { Status: 3 }, AAAA: { Status: 3 } })('x.example.com', signal)).toEqual([]);
  });

  it.each([[{ Status: 2 }], [{ nothing: true }]])(
    'that fails does not let the name pass: %j',
    async (body) => {
      await expect(answering({ A: body })('x.example.com', signal)).rejects.toMatchObject({
        data: { code: 'fetch_failed' },
      });
    },
  );
});
