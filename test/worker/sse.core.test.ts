import { afterEach, describe, expect, it, vi } from 'vitest';
import { unavailable } from '../../durable/errors.ts';
import type { Frame } from '../../durable/rpc.ts';
import type { Feed } from '../../worker/stream/feed.ts';
import { formatFrame, formatSse } from '../../worker/stream/sse.ts';
import { answerSse } from '../../worker/stream/sse-response.ts';

describe('server-sent events', () => {
  it('carry a logged event under its type, with its seq as the id', () => {
    const data = '{"type":"turn/start","turn":1,"seq":7,"at":0}';
    expect(formatFrame({ frame: 'event', seq: 7, type: 'turn/start', turn: 1, data })).toBe(
      `id: 7\nevent: turn/start\ndata: ${data}\n\n`,
    );
  });

  it('carry where their reader is behind them as the id, and not in the data', () => {
    const delta = { turn: 1, step: 2, attempt: 1, offset: 3, kind: 'text', text: 'a\nb' } as const;
    const sent = formatFrame({ frame: 'delta', ...delta, cursor: '9.1.2.1.6.0' });
    expect(sent).toBe(`id: 9.1.2.1.6.0\nevent: delta\ndata: ${JSON.stringify(delta)}\n\n`);
    const event = { frame: 'event', seq: 10, type: 'inbox/admitted', turn: null, data: '{}' } as const;
    expect(formatFrame({ ...event, cursor: '10.1.2.1.6.0' })).toBe(
      'id: 10.1.2.1.6.0\nevent: inbox/admitted\ndata: {}\n\n',
    );
  });

  it("carry a restart with its place, and a reader's dismissal without one", () => {
    const restart = { turn: 1, step: 2, attempt: 2 };
    expect(formatFrame({ frame: 'restart', ...restart, cursor: '9.1.2.2.0.0' })).toBe(
      `id: 9.1.2.2.0.0\nevent: restart\ndata: ${JSON.stringify(restart)}\n\n`,
    );
    expect(formatFrame({ frame: 'dropped', reason: 'slow reader', last_seq: 4 })).toBe(
      'event: dropped\ndata: {"reason":"slow reader","last_seq":4}\n\n',
    );
  });

  it('leave out what only concerns a socket', () => {
    const frames: Frame[] = [
      { frame: 'ready', last_seq: 4 },
      { frame: 'probe', n: 1 },
      { frame: 'reply', id: null, error: null },
      { frame: 'pong' },
    ];
    expect(frames.map(formatFrame)).toEqual(['', '', '', '']);
  });

  it('split data at every kind of line break, so that none ends the event early', () => {
    expect(formatSse({ event: 'x', data: 'a\nb\r\nc\rd' })).toBe(
      'event: x\ndata: a\ndata: b\ndata: c\ndata: d\n\n',
    );
  });
});

describe('a stream of them', () => {
  afterEach(() => vi.useRealTimers());

  const frame: Frame = { frame: 'event', seq: 1, type: 'turn/start', turn: 1, data: '{}' };
  const render = (frames: readonly Frame[]) => ({ text: frames.map(formatFrame).join(''), last: false });

  /** A feed that gives these batches, one a call, and then ends. */
  function feedOf(batches: Frame[][], more: Partial<Feed> = {}): Feed {
    return { next: async () => batches.shift() ?? null, failure: () => null, close: () => {}, ...more };
  }

  it('begins with what is known, and tells the client when to come back', async () => {
    const text = await answerSse(feedOf([[frame]]), 'event: first\ndata: 1\n\n', render).text();
    expect(text).toBe(`retry: 1000\n\nevent: first\ndata: 1\n\n${formatFrame(frame)}`);
  });

  it('is kept open by a comment every 15 seconds, also where frames come that are not sent', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const waits: number[] = [];
    let calls = 0;
    const next = async (waitMs: number) => {
      waits.push(waitMs);
      calls += 1;
      vi.setSystemTime(Date.now() + (calls === 1 ? 10_000 : waitMs));
      return calls > 2 ? null : calls === 1 ? [frame] : [];
    };
    const nothing = () => ({ text: '', last: false });
    expect(await answerSse(feedOf([], { next }), '', nothing).text()).toBe('retry: 1000\n\n: heartbeat\n\n');
    expect(waits.slice(0, 2)).toEqual([15_000, 5_000]);
  });

  it('closes its feed when it is complete, and when the client leaves', async () => {
    const close = vi.fn<() => void>();
    const last = () => ({ text: 'data: end\n\n', last: true });
    await answerSse(feedOf([[frame], [frame]], { close }), '', last).text();
    expect(close).toHaveBeenCalledOnce();
    const left = vi.fn<() => void>();
    await answerSse(feedOf([], { close: left }), '', render).body?.cancel();
    expect(left).toHaveBeenCalledOnce();
  });

  it('says why it ends where the session can no longer be followed', async () => {
    const failure = () => unavailable('The session cannot be reached.').data;
    const text = await answerSse(feedOf([], { failure }), '', render).text();
    expect(text).toContain('event: error\ndata: {"type":"urn:perch:problem:unavailable"');
  });
});
