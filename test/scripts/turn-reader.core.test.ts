import { describe, expect, it } from 'vitest';
import type { TurnEndReason } from '../../durable/transcript/events.ts';
import { readSse } from '../../scripts/start/read-sse.ts';
import { createTurnReader } from '../../scripts/start/turn-reader.ts';

const usage = { input: 0, input_cached: 0, input_cache_write: 0, output: 0, reasoning: 0 };
const logged = (event: { type: string }) => ({
  event: event.type,
  data: JSON.stringify({ seq: 1, at: 1, ...event }),
});
const delta = (offset: number, text: string, more: object = {}) => ({
  event: 'delta',
  data: JSON.stringify({ turn: 1, step: 1, attempt: 1, offset, kind: 'text', text, ...more }),
});
const message = (text: string, step = 1, attempt = 1) =>
  logged({
    type: 'assistant/message',
    ...{ turn: 1, step, attempt, finish: 'stop', usage, model: 'm', surface: 'append' },
    ...{ content: [{ type: 'text', text }] },
  });
const end = (reason: TurnEndReason) => logged({ type: 'turn/end', ...{ turn: 1, steps: 1, reason, usage } });

function readAll(events: { event: string; data: string }[]) {
  const reader = createTurnReader();
  const seen = events.map((event) => reader.read(event));
  return {
    pieces: seen.map(({ text }) => text),
    text: seen.map(({ text }) => text).join(''),
    end: seen.at(-1)?.end,
  };
}

describe('the text of a turn on a terminal', () => {
  it('is shown as it comes, once, and ends with a line break', () => {
    const { pieces, end: ended } = readAll([
      delta(0, 'Hello '),
      delta(6, 'there.'),
      message('Hello there.'),
      end({ kind: 'completed' }),
    ]);
    expect(pieces).toEqual(['Hello ', 'there.', '', '\n']);
    expect(ended).toEqual({ kind: 'completed' });
  });

  it('is completed from the log where pieces are missing or come twice', () => {
    const events = [delta(0, 'Hello '), delta(0, 'Hello '), delta(9, 're.'), message('Hello there.')];
    expect(readAll(events).pieces).toEqual(['Hello ', '', '', 'there.']);
  });

  it('holds no reasoning', () => {
    expect(readAll([delta(0, 'Hm.', { kind: 'reasoning' }), message('Yes.')]).text).toBe('Yes.');
  });

  it('has a blank line between steps, and before an answer that was asked for again', () => {
    const events = [
      delta(0, 'Half'),
      delta(0, 'One.', { attempt: 2 }),
      message('One.', 1, 2),
      message('Two.', 2),
    ];
    expect(readAll(events).text).toBe('Half\n\nOne.\n\nTwo.');
  });

  it.each<[TurnEndReason, RegExp]>([
    [
      { kind: 'error', error: { code: 'model_not_configured', message: 'No key.' } },
      /^model_not_configured: No key\.$/,
    ],
    [{ kind: 'blocked', by: 'guard', message: 'Not this.' }, /^blocked: .*Not this\./],
    [{ kind: 'max-tokens' }, /^max-tokens: /],
    [{ kind: 'budget', budget: 'steps', scope: 'turn', limit: 2 }, /^budget: steps/],
    [{ kind: 'aborted', by: 'key' }, /^aborted: /],
    [{ kind: 'interrupted', message: 'Again.' }, /^interrupted: Again\./],
  ])('fails with the reason: %j', (reason, expected) => {
    const { text, end: ended } = readAll([end(reason)]);
    expect(text).toBe('');
    expect(ended).toEqual({ kind: 'failed', message: expect.stringMatching(expected) });
  });
});

describe('server-sent events', () => {
  it('are read across the borders of pieces, without comments and retry intervals', async () => {
    const bytes = new TextEncoder().encode(
      'retry: 1000\n\n: heartbeat\n\nid: 1\nevent: delta\ndata: {"text":"grün"}\n\nevent: turn/end\ndata: a\ndata: b\n\n',
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const events = [];
    for await (const event of readSse(new Response(body))) events.push(event);
    expect(events).toEqual([
      { event: 'delta', data: '{"text":"grün"}' },
      { event: 'turn/end', data: 'a\nb' },
    ]);
  });
});
