import { describe, expect, it } from 'vitest';
import {
  anthropic,
  createModelResolver,
  openaiCompatible,
  type ProviderDefinition,
  STANDARD_PROVIDERS,
  workersAi,
} from '../../durable/models/index.ts';
import { answerOf, ask, useStandIn } from './stand-in.ts';

const ENV = {
  ANTHROPIC_API_KEY: 'key-a',
  OPENAI_API_KEY: 'key-o',
  DEEPSEEK_API_KEY: 'k',
  OPENROUTER_API_KEY: 'k',
  AI: { run: () => null },
};

describe('a route', () => {
  it.each(STANDARD_PROVIDERS.map(({ name }) => name).filter((name) => name !== 'offline'))(
    'of %s resolves with its bindings set',
    async (name) => {
      const model = await createModelResolver(STANDARD_PROVIDERS, ENV)(name, '@cf/some/model');
      expect(model).toMatchObject({ provider: name, model: '@cf/some/model' });
      expect(model.adapter.modelId).toBe('@cf/some/model');
    },
  );

  it('that was resolved before answers at once, with the same model', async () => {
    const resolve = createModelResolver(STANDARD_PROVIDERS, ENV);
    const first = await resolve('openai', 'gpt');
    expect(resolve('openai', 'gpt')).toBe(first);
    expect(await resolve('openai', 'gpt-2')).not.toBe(first);
  });

  it('of an unknown provider says which there are', async () => {
    await expect(createModelResolver(STANDARD_PROVIDERS, ENV)('acme', 'x')).rejects.toMatchObject({
      data: { code: 'unknown_model', facts: { known: expect.arrayContaining(['anthropic', 'offline']) } },
    });
  });

  it('of an unknown offline model says which there are', async () => {
    await expect(createModelResolver(STANDARD_PROVIDERS, ENV)('offline', 'x')).rejects.toMatchObject({
      data: { code: 'unknown_model', facts: { known: ['demo', 'instant'] } },
    });
  });

  it.each([
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['openai', 'OPENAI_API_KEY'],
    ['deepseek', 'DEEPSEEK_API_KEY'],
    ['openrouter', 'OPENROUTER_API_KEY'],
    ['workers-ai', 'AI'],
  ])('of %s without its binding names %s', async (name, variable) => {
    for (const env of [{}, { [variable]: ' ' }]) {
      await expect(createModelResolver(STANDARD_PROVIDERS, env)(name, 'x')).rejects.toMatchObject({
        data: {
          code: 'model_not_configured',
          detail: expect.stringContaining(variable),
          facts: { provider: name, variable },
        },
      });
    }
  });

  it('that failed is tried again', async () => {
    const env: Record<string, string> = {};
    const resolve = createModelResolver(STANDARD_PROVIDERS, env);
    await expect(resolve('openai', 'x')).rejects.toThrow('OPENAI_API_KEY');
    env.OPENAI_API_KEY = 'key-o';
    expect(await resolve('openai', 'x')).toMatchObject({ provider: 'openai' });
  });

  it('that needs an address and has none names its variable', async () => {
    const provider = openaiCompatible({ name: 'mine', baseUrlVar: 'MINE_URL' });
    await expect(createModelResolver([provider], {})('mine', 'x')).rejects.toThrow('MINE_URL');
  });
});

describe('media', () => {
  async function accepts(provider: ProviderDefinition, mediaType: string, model = 'm'): Promise<boolean> {
    return (await createModelResolver([provider], ENV)(provider.name, model)).accepts(mediaType);
  }

  it('are taken by family, by type or by model', async () => {
    const at = { name: 'x', baseUrl: 'http://127.0.0.1:1' };
    expect(await accepts(openaiCompatible({ ...at, media: ['image/*'] }), 'image/png')).toBe(true);
    expect(await accepts(openaiCompatible({ ...at, media: ['image/*'] }), 'application/pdf')).toBe(false);
    expect(await accepts(openaiCompatible(at), 'image/png')).toBe(false);
    const seeing = openaiCompatible({
      ...at,
      media: (type, model) => type === 'image/png' && model === 'eye',
    });
    expect(await accepts(seeing, 'image/png', 'eye')).toBe(true);
    expect(await accepts(seeing, 'image/png', 'ear')).toBe(false);
    expect(await accepts(anthropic(), 'application/pdf')).toBe(true);
    expect(await accepts(anthropic(), 'image/tiff')).toBe(false);
  });
});

it('a resolved model takes its key out of a text, and does not carry it in the open', async () => {
  const model = await createModelResolver(STANDARD_PROVIDERS, ENV)('openai', 'x');
  expect(model.redact('it was key-o, yes')).toBe('it was [redacted], yes');
  const { adapter: _adapter, ...rest } = model;
  expect(JSON.stringify(rest)).not.toContain('key-o');
});

describe('addresses', () => {
  const standIn = useStandIn();

  it("OpenAI's limit on output goes by the name that its reasoning models take, other providers' by the old one", async () => {
    const url = standIn.url();
    const env = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'k', OLLAMA_BASE_URL: url };
    const resolve = createModelResolver(STANDARD_PROVIDERS, env);
    for (const [provider, path, field] of [
      ['openai', '/v1/chat/completions', 'max_completion_tokens'],
      ['ollama', '/chat/completions', 'max_tokens'],
    ] as const) {
      await standIn.client().script(`limit-${provider}`, [{ text: 'ok' }]);
      answerOf(await ask(await resolve(provider, `limit-${provider}`), {}, { maxOutputTokens: 99 }));
      const [request] = await standIn.client().requests(`limit-${provider}`);
      expect(request?.path).toBe(path);
      expect(JSON.parse(request?.body ?? '')).toMatchObject({
        [field]: 99,
        stream_options: { include_usage: true },
      });
    }
  });
});

describe('Workers AI, over a stand-in for its binding', () => {
  const SSE = [
    '{"response":"It is "}',
    '{"response":"noon."}',
    '{"response":"","usage":{"prompt_tokens":9,"completion_tokens":4}}',
    '[DONE]',
  ];

  function bind(lines: string[]) {
    const runs: unknown[][] = [];
    const run = (...args: unknown[]) => {
      runs.push(args);
      const bytes = new TextEncoder().encode(lines.map((line) => `data: ${line}\n\n`).join(''));
      return Promise.resolve(new Blob([bytes]).stream());
    };
    return { AI: { run }, runs };
  }

  async function askWorkersAi(lines: string[]) {
    const { AI, runs } = bind(lines);
    const outcome = ask(await createModelResolver([workersAi()], { AI })('workers-ai', '@cf/meta/llama'));
    return { outcome, runs };
  }

  it('streams an answer with its usage', async () => {
    const { outcome, runs } = await askWorkersAi(SSE);
    expect(answerOf(await outcome)).toEqual({
      content: [{ type: 'text', text: 'It is noon.' }],
      finish: 'stop',
      usage: { input: 9, input_cached: 0, input_cache_write: 0, output: 4, reasoning: 0 },
      model: '@cf/meta/llama',
    });
    expect(runs[0]?.slice(0, 2)).toEqual([
      '@cf/meta/llama',
      expect.objectContaining({ stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
    ]);
  });

  it('streams a tool call', async () => {
    const delta = {
      tool_calls: [
        {
          id: 'call_1',
          index: 0,
          type: 'function',
          function: { name: 'clock', arguments: '{"zone":"UTC"}' },
        },
      ],
    };
    const { outcome } = await askWorkersAi([
      JSON.stringify({ choices: [{ delta }] }),
      JSON.stringify({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }),
      '[DONE]',
    ]);
    expect(answerOf(await outcome)).toMatchObject({
      content: [{ type: 'tool-call', name: 'clock', input: { zone: 'UTC' } }],
      finish: 'tool-calls',
    });
  });

  it('a stream that ends early is cut', async () => {
    const { outcome } = await askWorkersAi(SSE.slice(0, 2));
    await expect(outcome).rejects.toMatchObject({ data: { code: 'model_stream_cut' } });
  });

  it('out of capacity is a rate limit', async () => {
    const AI = {
      run: () => Promise.reject(new Error('3040: Capacity temporarily exceeded, please try again.')),
    };
    const model = await createModelResolver([workersAi()], { AI })('workers-ai', '@cf/x');
    await expect(ask(model)).rejects.toMatchObject({
      data: { code: 'model_rate_limited', facts: { provider: 'workers-ai' } },
    });
  });

  it('an unknown failure of the binding is a provider that failed', async () => {
    const AI = { run: () => Promise.reject(new Error('something odd')) };
    const model = await createModelResolver([workersAi()], { AI })('workers-ai', '@cf/x');
    await expect(ask(model)).rejects.toMatchObject({ data: { code: 'model_unavailable' } });
  });
});
