import { describe, expect, it } from 'vitest';
import type { Frame } from '../../durable/rpc.ts';
import { followTurn } from '../../worker/stream/turn.ts';

let seq = 0;
function event(type: string, turn: number | null, body: object = {}): Frame {
  seq += 1;
  return { frame: 'event', seq, type, turn, data: JSON.stringify({ type, turn, ...body }) };
}
const start = (turn: number): Frame => event('turn/start', turn);
const step = (turn: number, number: number, ...claimed: string[]): Frame =>
  event('step/start', turn, { step: number, claimed });
const said = (turn: number, id: string): Frame => event('user/message', turn, { message: { id } });
const end = (turn: number): Frame => event('turn/end', turn);
const delta = (turn: number): Frame => ({
  frame: 'delta',
  turn,
  step: 1,
  attempt: 1,
  offset: 0,
  kind: 'text',
  text: 'x',
});

/** What of the frames is sent, by type and turn; each frame comes in a batch of its own. */
function follow(message: string, frames: Frame[]): { sent: string[]; done: boolean } {
  const follower = followTurn(message);
  const sent: string[] = [];
  for (const frame of frames) {
    const selected = follower.select([frame]);
    sent.push(
      ...selected.frames.map((one) => (one.frame === 'event' ? `${one.type} ${one.turn}` : one.frame)),
    );
    if (selected.done) return { sent, done: true };
  }
  return { sent, done: false };
}

describe('the turn that takes a message', () => {
  it('is sent whole, and nothing of the turn before it or after it', () => {
    const frames = [
      ...[event('inbox/admitted', null, { message: 'mine' }), delta(1), said(1, 'other'), end(1)],
      ...[start(2), step(2, 1, 'mine'), said(2, 'mine'), delta(2), step(2, 2), end(2)],
      ...[start(3), end(3)],
    ];
    expect(follow('mine', frames)).toEqual({
      sent: ['turn/start 2', 'step/start 2', 'user/message 2', 'delta', 'step/start 2', 'turn/end 2'],
      done: true,
    });
  });

  it('may be running already: then it is sent from the step that takes the message', () => {
    const frames = [
      ...[start(1), step(1, 1, 'first'), delta(1), event('inbox/admitted', null, { message: 'mine' })],
      ...[step(1, 2, 'mine'), end(1)],
    ];
    expect(follow('mine', frames)).toEqual({ sent: ['step/start 1', 'turn/end 1'], done: true });
  });

  it('may end without a step: the message itself says whose it is', () => {
    expect(follow('mine', [start(4), said(4, 'mine'), end(4)])).toEqual({
      sent: ['turn/start 4', 'user/message 4', 'turn/end 4'],
      done: true,
    });
  });

  it('never comes for a message that is discarded', () => {
    const frames = [
      event('inbox/discarded', null, { message: { id: 'other' } }),
      event('inbox/discarded', null, { message: { id: 'mine' } }),
    ];
    expect(follow('mine', frames)).toEqual({ sent: ['inbox/discarded null'], done: true });
  });

  it('leaves out what stands between its events and belongs to no turn', () => {
    const frames = [start(1), step(1, 1, 'mine'), event('inbox/admitted', null, { message: 'next' }), end(1)];
    expect(follow('mine', frames).sent).toEqual(['turn/start 1', 'step/start 1', 'turn/end 1']);
  });

  it('is sent with its restarts, and without those of others', () => {
    const restart = (turn: number): Frame => ({ frame: 'restart', turn, step: 1, attempt: 2 });
    const frames = [restart(1), start(2), step(2, 1, 'mine'), delta(2), restart(2), delta(2), end(2)];
    expect(follow('mine', frames).sent).toEqual([
      ...['turn/start 2', 'step/start 2', 'delta', 'restart', 'delta', 'turn/end 2'],
    ]);
  });

  it('is over for a reader who is dropped, and says so', () => {
    const dropped: Frame = { frame: 'dropped', reason: 'slow reader', last_seq: 3 };
    expect(follow('mine', [start(2), dropped])).toEqual({ sent: ['dropped'], done: true });
  });
});
