/** What bad answers become, through the real adapters over HTTP. */
import { describe, expect, it } from 'vitest';
import { createModelResolver, openaiCompatible } from '../../durable/models/index.ts';
import type { ScriptedResponse } from '../support/model-script.ts';
import { answerOf, ask, KEY, PROTOCOLS, type READ, useStandIn } from './stand-in.ts';

describe.each(PROTOCOLS)('over %s', (protocol) => {
  const standIn = useStandIn();

  async function askScripted(responses: ScriptedResponse[], options: Partial<typeof READ> = {}) {
    const name = `${protocol}-${JSON.stringify(responses).slice(0, 60)}`;
    await standIn.client().script(name, responses);
    return ask(await standIn.model(protocol, name), options);
  }

  function errorBody(message: string): string {
    return JSON.stringify({ type: 'error', error: { type: 'some_error', message } });
  }

  it('a refused key is an authentication error that does not show the key', async () => {
    const body = errorBody(`Incorrect API key provided: ${KEY}. Also seen as Bearer ${KEY}`);
    const failure = askScripted([{ status: 401, headers: { 'x-request-id': 'req_1' }, body }]);
    await expect(failure).rejects.toMatchObject({
      data: { code: 'model_auth_failed', facts: { provider: protocol, status: 401, request_id: 'req_1' } },
    });
    const error = await failure.catch((caught: unknown) => caught);
    expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
    expect(JSON.stringify(error)).not.toContain('Bearer sk');
  });

  it('a rate limit says how long to wait', async () => {
    const failure = askScripted([
      { status: 429, headers: { 'retry-after': '7' }, body: errorBody('slow down') },
    ]);
    await expect(failure).rejects.toMatchObject({
      data: { code: 'model_rate_limited', facts: { provider: protocol, status: 429, retry_after_ms: 7000 } },
    });
  });

  it.each([500, 503, 529])('status %i is a provider that failed', async (status) => {
    await expect(askScripted([{ status, body: errorBody('oops') }])).rejects.toMatchObject({
      data: { code: 'model_unavailable', facts: { provider: protocol, status } },
    });
  });

  it('a rejected request quotes the reason', async () => {
    await expect(askScripted([{ status: 400, body: errorBody('prompt is too long') }])).rejects.toMatchObject(
      {
        data: { code: 'model_bad_request', detail: expect.stringContaining('prompt is too long') },
      },
    );
  });

  it('an error status with a page for a body is still its status', async () => {
    await expect(askScripted([{ status: 502, body: '<html>bad gateway</html>' }])).rejects.toMatchObject({
      data: { code: 'model_unavailable', facts: { status: 502 } },
    });
  });

  it('an answer that never starts is given up as stalled', async () => {
    const started = performance.now();
    await expect(askScripted([{ hang: true }], { stallMs: 80 })).rejects.toMatchObject({
      data: { code: 'model_stalled', facts: { provider: protocol, stall_ms: 80 } },
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });

  it('an answer that stops in the middle is given up as stalled', async () => {
    await expect(
      askScripted([{ text: 'one two three', hang_after: 4 }], { stallMs: 80 }),
    ).rejects.toMatchObject({
      data: { code: 'model_stalled' },
    });
  });

  it('a slow answer whose pieces keep coming is not stalled', async () => {
    const outcome = await askScripted([{ text: 'a slow answer', deltas: 8, delay_ms: 25 }], { stallMs: 120 });
    expect(answerOf(outcome).content).toEqual([{ type: 'text', text: 'a slow answer' }]);
  });

  it.each([{ reset: false }, { reset: true }])('a stream that is cut is an error: %o', async (how) => {
    await expect(askScripted([{ text: 'one two three', cut_after: 4, ...how }])).rejects.toMatchObject({
      data: { code: 'model_stream_cut', facts: { provider: protocol } },
    });
  });

  it('a stream that ends before anything came is cut', async () => {
    await expect(askScripted([{ text: 'x', cut_after: 0 }])).rejects.toMatchObject({
      data: { code: 'model_stream_cut' },
    });
  });

  it.each(['html', 'events'] as const)('garbage is an answer that cannot be read: %s', async (garbage) => {
    await expect(askScripted([{ garbage }])).rejects.toMatchObject({
      data: { code: 'model_response_invalid', facts: { provider: protocol } },
    });
  });

  it('an answer with neither text nor calls is empty', async () => {
    await expect(askScripted([{ text: '' }])).rejects.toMatchObject({ data: { code: 'model_empty_answer' } });
    await expect(askScripted([{ reasoning: 'hm' }])).rejects.toMatchObject({
      data: { code: 'model_empty_answer', facts: { finish: 'stop' } },
    });
  });

  it('a call whose input is no object is kept as malformed', async () => {
    const calls = [{ id: 'call_a', name: 'clock', arguments: '{"zone": ' }];
    expect(answerOf(await askScripted([{ tool_calls: calls }])).content).toEqual([
      { type: 'tool-call', id: 'call_a', name: 'clock', input: {}, malformed: '{"zone": ' },
    ]);
  });

  it('an abort in the middle keeps what came', async () => {
    const stop = new AbortController();
    let heard = '';
    const outcome = await askScripted([{ text: 'one two three four five', deltas: 23, delay_ms: 1 }], {
      signal: stop.signal,
      onDelta: (delta) => {
        heard += delta.text;
        if (heard === 'one two') stop.abort(new Error('cancelled'));
      },
    });
    expect(outcome).toMatchObject({
      kind: 'aborted',
      partial: { finish: 'aborted', content: [{ type: 'text', text: 'one two' }] },
    });
  });

  it('an abort before the answer starts ends the request', async () => {
    const stop = new AbortController();
    const name = `${protocol}-abort-early`;
    await standIn.client().script(name, [{ text: 'never', gate: name }]);
    const outcome = ask(await standIn.model(protocol, name), { signal: stop.signal });
    await standIn.client().reached(name);
    stop.abort();
    expect(await outcome).toMatchObject({ kind: 'aborted', partial: { content: [] } });
    await standIn.client().release(name);
  });
});

describe('a provider that is not there', () => {
  it('cannot be reached', async () => {
    const gone = openaiCompatible({ name: 'gone', baseUrl: 'http://127.0.0.1:1/v1' });
    const model = await createModelResolver([gone], {})('gone', 'x');
    await expect(ask(model)).rejects.toMatchObject({
      data: { code: 'model_unreachable', facts: { provider: 'gone' } },
    });
  });
});

describe('errors inside a stream', () => {
  const standIn = useStandIn();

  it('an error chunk of an OpenAI-compatible provider is read by its code', async () => {
    const chunk = JSON.stringify({
      error: { message: 'Rate limit reached', type: 'rate_limit_exceeded', code: null },
    });
    await standIn.client().script('chunk-error', [{ chunks: [chunk] }]);
    await expect(ask(await standIn.model('openai', 'chunk-error'))).rejects.toMatchObject({
      data: { code: 'model_rate_limited' },
    });
  });

  it.each([
    ['overloaded_error', 'model_unavailable'],
    ['rate_limit_error', 'model_rate_limited'],
    ['authentication_error', 'model_auth_failed'],
    ['invalid_request_error', 'model_bad_request'],
  ])("Anthropic's %s is %s, at once and in the middle", async (type, code) => {
    const error = JSON.stringify({ type: 'error', error: { type, message: 'it said so' } });
    const start = JSON.stringify({
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'x',
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    });
    for (const chunks of [[error], [start, error]]) {
      await standIn.client().script(type, [{ chunks }]);
      await expect(ask(await standIn.model('anthropic', type))).rejects.toMatchObject({
        data: { code, detail: expect.stringContaining('it said so') },
      });
    }
  });
});
