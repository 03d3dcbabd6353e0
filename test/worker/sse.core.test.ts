import { describe, expect, it } from 'vitest';
import { formatFrame, formatSse } from '../../worker/stream/sse.ts';

describe('server-sent events', () => {
  it('carry a logged event under its type, with its seq as the id', () => {
    const data = '{"type":"turn/start","turn":1,"seq":7,"at":0}';
    expect(formatFrame({ frame: 'event', seq: 7, type: 'turn/start', turn: 1, data })).toBe(
      `id: 7\nevent: turn/start\ndata: ${data}\n\n`,
    );
  });

  it('carry a delta without an id, so that a client resumes from an event', () => {
    const delta = { turn: 1, step: 2, attempt: 1, offset: 3, kind: 'text', text: 'a\nb' } as const;
    const sent = formatFrame({ frame: 'delta', ...delta });
    expect(sent).toBe(`event: delta\ndata: ${JSON.stringify(delta)}\n\n`);
  });

  it('leave the ready frame out', () => {
    expect(formatFrame({ frame: 'ready', last_seq: 4 })).toBe('');
  });

  it('split data at every kind of line break, so that none ends the event early', () => {
    expect(formatSse({ event: 'x', data: 'a\nb\r\nc\rd' })).toBe(
      'event: x\ndata: a\ndata: b\ndata: c\ndata: d\n\n',
    );
  });
});
