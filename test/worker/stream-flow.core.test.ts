import { describe, expect, it } from 'vitest';
import { createFlow } from '../../durable/subscribers/flow.ts';
import { parseRequest } from '../../durable/subscribers/requests.ts';

const LIMITS = { probeBytes: 100, windowBytes: 400, mostBytes: 1_000, slowMs: 1_000 };

describe('how far a socket is behind', () => {
  it('is asked after each so many bytes', () => {
    const flow = createFlow(LIMITS);
    expect([60, 60, 60, 60, 250, 10].map((bytes) => flow.send(bytes))).toEqual([null, 1, null, 2, 3, null]);
  });

  it('is known by its acknowledgements, of which one stands for those before it', () => {
    const flow = createFlow(LIMITS);
    for (let i = 0; i < 4; i++) flow.send(100);
    expect(flow.isFull()).toBe(true);
    expect(flow.ack(3)).toBe(true);
    expect(flow.isFull()).toBe(false);
    expect([flow.ack(3), flow.ack(1), flow.ack(9), flow.ack(4)]).toEqual([false, false, false, true]);
  });

  it('is too far after so many bytes without one, sent or held back', () => {
    const flow = createFlow(LIMITS);
    for (let i = 0; i < 4; i++) flow.send(100);
    flow.hold(600);
    expect(flow.isLost()).toBe(false);
    flow.hold(1);
    expect(flow.isLost()).toBe(true);
    flow.ack(1);
    expect(flow.isLost()).toBe(false);
  });

  it('is not too far because of one long frame', () => {
    const flow = createFlow(LIMITS);
    expect(flow.send(5_000)).toBe(1);
    expect([flow.isFull(), flow.isLost()]).toEqual([true, false]);
    flow.ack(1);
    expect(flow.isFull()).toBe(false);
  });

  it('never ends somebody who answers each probe, however much comes', () => {
    const flow = createFlow(LIMITS);
    for (let i = 0; i < 1_000; i++) {
      const probe = flow.send(37);
      if (probe !== null) flow.ack(probe);
      expect([flow.isFull(), flow.isLost()]).toEqual([false, false]);
    }
  });
});

describe('what a client says over a socket', () => {
  it('is a cancel, an ack or a ping', () => {
    expect(parseRequest('{"type":"cancel"}')).toEqual({
      type: 'cancel',
      id: null,
      clear_inbox: false,
      turn: null,
    });
    expect(parseRequest('{"type":"cancel","id":"a","clear_inbox":true,"turn":3}')).toEqual({
      type: 'cancel',
      id: 'a',
      clear_inbox: true,
      turn: 3,
    });
    expect(parseRequest('{"type":"ack","n":2}')).toEqual({ type: 'ack', n: 2 });
    expect(parseRequest(' {"type": "ping"}')).toEqual({ type: 'ping' });
  });

  it.each([
    ['', null],
    ['hello', null],
    ['null', null],
    ['[]', null],
    ['{"type":"prompt","id":"x","text":"hi"}', 'x'],
    ['{"type":"cancel","id":"y","turn":-1}', 'y'],
    ['{"type":"cancel","id":"z","source":{"kind":"user"}}', 'z'],
    [`{"type":"cancel","id":"${'x'.repeat(65)}"}`, null],
    ['{"type":"ack"}', null],
    ['{"type":"ack","n":1.5}', null],
    [`{"type":"ping","pad":"${'x'.repeat(4_096)}"}`, null],
    [`{"type":"ping","pad":"${'会'.repeat(1_400)}"}`, null],
    [new ArrayBuffer(4), null],
  ])('is refused otherwise: %j', (message, id) => {
    expect(parseRequest(message)).toMatchObject({ type: 'invalid', id });
  });
});
