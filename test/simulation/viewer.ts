/**
 * A client that watches a session over a socket, loses the connection now and then, and comes back with its cursor. It
 * puts the text together as the documentation says, and complains about a gap, about anything sent twice, and about a
 * text that is not the one that was committed.
 */

import type { Frame } from '../../durable/rpc.ts';
import { parseFrame } from '../../worker/stream/frames.ts';
import type { Socket } from './sockets.ts';

export interface Viewer {
  /** The query of the next connection. */
  start: () => string;
  /** Says something over the socket, where there is one. */
  say: (text: string) => void;
  attach: (socket: Socket) => void;
  /** Leaves; a viewer that is detached hears nothing more of that connection. */
  detach: () => void;
  isAttached: () => boolean;
  /** The newest event that it has. */
  lastSeq: () => number;
  /** By seq, as they came. */
  events: ReadonlyMap<number, string>;
}

interface Part {
  key: string;
  text: string;
  reasoning: string;
  /** The connection was another one when it began. */
  isResumed: boolean;
}

/** `start` is `after=<seq>`, or `message=<id>`: then the first event says where it begins. */
export function createViewer(start: string, complain: (problem: string) => void): Viewer {
  const after = /^after=(\d+)$/.exec(start)?.[1];
  let cursor = after ?? null;
  let seq = after === undefined ? null : Number(after);
  let part: Part | null = null;
  let isLive = false;
  let socket: Socket | null = null;
  const events = new Map<number, string>();

  const takeDelta = (frame: Extract<Frame, { frame: 'delta' }>): void => {
    const key = `${frame.turn}.${frame.step}.${frame.attempt}`;
    if (part?.key !== key) {
      if (frame.attempt > 1 && part !== null && isSameStep(part.key, key)) {
        complain(`text of ${key} came without a restart`);
      }
      part = { key, text: '', reasoning: '', isResumed: false };
    }
    const held = part[frame.kind].length;
    if (frame.offset !== held) {
      complain(`${frame.kind} of ${key}: ${held} units are held, and a piece comes at ${frame.offset}`);
    }
    part[frame.kind] += frame.text;
  };
  const takeEvent = (frame: Extract<Frame, { frame: 'event' }>): void => {
    if (seq !== null && frame.seq !== seq + 1) complain(`event ${frame.seq} comes after ${seq}`);
    seq = Math.max(seq ?? 0, frame.seq);
    events.set(frame.seq, frame.data);
    if (frame.type === 'assistant/message') takeAnswer(frame.data);
    if (frame.type === 'request/failed' && part !== null) part = { ...part, text: '', reasoning: '' };
    if (frame.type === 'turn/end' && part !== null && part.text !== '') takeEnd(frame.data);
    if (frame.type === 'step/start' || frame.type === 'turn/end') part = null;
  };
  /** What people saw of an answer is kept when somebody stops it. */
  const takeEnd = (data: string): void => {
    const { reason } = JSON.parse(data);
    if (reason.kind === 'aborted' && part?.isResumed !== true)
      complain(`${JSON.stringify(part?.text)} was seen, and nothing of it is kept`);
  };
  const takeAnswer = (data: string): void => {
    const answer = JSON.parse(data);
    const key = `${answer.turn}.${answer.step}.${answer.attempt}`;
    if (part !== null && part.key !== key && isSameStep(part.key, key)) {
      complain(`the answer is of ${key}, and text is held of ${part.key}`);
    }
    for (const kind of ['text', 'reasoning'] as const) {
      const said = textOf(answer, kind);
      const held = part?.key === key ? part[kind] : '';
      // What was shown shortly before a crash is in no row: where the turn is stopped then, it is not kept. Nor is
      // reasoning without its signature.
      const isCut = answer.interrupted === true && (kind === 'reasoning' || part?.isResumed === true);
      const isBegun = said.startsWith(held) || (isCut && held.startsWith(said));
      const isRight = isLive && !isCut ? said === held : isBegun;
      if (!isRight) complain(`${kind} of ${key}: ${JSON.stringify(held)} is held of ${JSON.stringify(said)}`);
    }
    part = null;
  };
  const take = (frame: Frame): void => {
    if ('cursor' in frame && frame.cursor !== undefined) ({ cursor } = frame);
    else if (frame.frame === 'event') cursor = String(frame.seq);
    switch (frame.frame) {
      case 'event':
        takeEvent(frame);
        return;
      case 'delta':
        takeDelta(frame);
        return;
      case 'restart': {
        const key = `${frame.turn}.${frame.step}.${frame.attempt}`;
        if (part?.key === key) complain(`${key} begins twice`);
        part = { key, text: '', reasoning: '', isResumed: false };
        return;
      }
      case 'ready':
        isLive = true;
        seq ??= frame.last_seq;
        cursor ??= String(frame.last_seq);
        if (frame.last_seq !== seq) complain(`ready at ${frame.last_seq}, and the newest event was ${seq}`);
        return;
      case 'probe':
        socket?.send(JSON.stringify({ type: 'ack', n: frame.n }));
        return;
      default:
    }
  };
  return {
    events,
    start: () => (cursor === null ? start : `after=${cursor}`),
    say: (text) => socket?.send(text),
    lastSeq: () => seq ?? 0,
    isAttached: () => socket !== null,
    attach(to) {
      socket = to;
      isLive = false;
      if (part) part = { ...part, isResumed: true };
      to.onMessage = (text) => {
        if (socket === to) take(parseFrame(text));
      };
      to.onClose = () => {
        if (socket === to) socket = null;
      };
    },
    detach() {
      const from = socket;
      socket = null;
      from?.close(1000, 'enough');
    },
  };
}

function isSameStep(a: string, b: string): boolean {
  return a.slice(0, a.lastIndexOf('.')) === b.slice(0, b.lastIndexOf('.'));
}

function textOf(answer: { content: { type: string; text?: string }[] }, kind: 'text' | 'reasoning'): string {
  return answer.content
    .filter((block) => block.type === kind)
    .map((block) => block.text ?? '')
    .join('');
}
