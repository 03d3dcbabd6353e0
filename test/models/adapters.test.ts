/** The adapters in the runtime that serves people: workerd's fetch, streams and timers. */
import { describe, expect, inject, it } from 'vitest';
import {
  anthropic,
  askModel,
  createModelResolver,
  openaiCompatible,
  type ReadOptions,
  STANDARD_PROVIDERS,
  waitWithTimer,
} from '../../durable/models/index.ts';
import { createModelClient } from '../support/model-client.ts';

const client = createModelClient(inject('modelServer'));
const resolve = createModelResolver(
  [
    openaiCompatible({ name: 'openai', baseUrlVar: 'MODEL_SERVER' }),
    anthropic({ baseUrlVar: 'MODEL_SERVER', key: 'MODEL_KEY' }),
    openaiCompatible({ name: 'gone', baseUrl: 'http://127.0.0.1:1/v1' }),
    ...STANDARD_PROVIDERS.filter(({ name }) => name === 'offline'),
  ],
  { MODEL_SERVER: inject('modelServer'), MODEL_KEY: 'a key' },
);
const READ: ReadOptions = {
  signal: new AbortController().signal,
  stallMs: 10_000,
  wait: waitWithTimer,
  now: () => Date.now(),
  onDelta: () => undefined,
};

async function ask(provider: string, model: string, options: Partial<ReadOptions> = {}) {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
  return askModel(await resolve(provider, model), { prompt }, { ...READ, ...options });
}

describe.each(['openai', 'anthropic'])('in workerd, over %s', (provider) => {
  it('an answer with a tool call is read', async () => {
    const call = { id: 'call_1', name: 'clock', arguments: '{"zone":"UTC"}' };
    await client.script(`wd-${provider}`, [{ text: 'Let me see.', tool_calls: [call] }]);
    expect(await ask(provider, `wd-${provider}`)).toMatchObject({
      answer: {
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool-call', id: 'call_1', name: 'clock', input: { zone: 'UTC' } },
        ],
        finish: 'tool-calls',
        usage: { input: 10, output: 3 },
      },
    });
  });

  it('an abort in the middle keeps what came', async () => {
    const name = `wd-abort-${provider}`;
    await client.script(name, [{ text: 'one two three', deltas: 13, delay_ms: 2 }]);
    const stop = new AbortController();
    let heard = '';
    const onDelta = ({ text }: { text: string }) => {
      heard += text;
      if (heard === 'one') stop.abort();
    };
    expect(await ask(provider, name, { signal: stop.signal, onDelta })).toMatchObject({
      kind: 'aborted',
      partial: { content: [{ type: 'text', text: 'one' }] },
    });
  });

  it.each([
    ['never starts', { hang: true as const }, 'model_stalled'],
    ['stops', { text: 'one two', hang_after: 4 }, 'model_stalled'],
    ['ends early', { text: 'one two', cut_after: 4 }, 'model_stream_cut'],
    ['breaks', { text: 'one two', cut_after: 4, reset: true }, 'model_stream_cut'],
    ['is a page', { garbage: 'html' as const }, 'model_response_invalid'],
    ['is no JSON', { garbage: 'events' as const }, 'model_response_invalid'],
    ['is a refused key', { status: 401 }, 'model_auth_failed'],
    ['is a failure', { status: 500 }, 'model_unavailable'],
    ['is empty', { text: '' }, 'model_empty_answer'],
  ])('an answer that %s', async (what, response, code) => {
    const name = `wd-${what}-${provider}`;
    await client.script(name, [response]);
    await expect(ask(provider, name, { stallMs: 200 })).rejects.toMatchObject({ data: { code } });
  });
});

it('a provider that is not there cannot be reached', async () => {
  await expect(ask('gone', 'x')).rejects.toMatchObject({ data: { code: 'model_unreachable' } });
});

it('the offline model answers', async () => {
  expect(JSON.stringify(await ask('offline', 'instant'))).toContain('no language model is at work here');
});
