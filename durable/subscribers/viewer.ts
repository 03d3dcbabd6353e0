/**
 * One socket. It is live, or it is behind: its client has not acknowledged enough, so what comes is held back from it
 * and read again when it has. Where too much was held back, or for too long, it is dropped.
 */
import { Buffer } from 'node:buffer';
import type { Frame, SocketGrant } from '../rpc.ts';
import { addCursor, type Cursor, createCursor, parsePlace, type StreamFrame } from '../stream-cursor.ts';
import { createFlow, type FlowLimits } from './flow.ts';

/** The close code of a dropped client: in the range that RFC 6455 leaves to applications. */
const DROPPED = 4408;
const SLOW = 'slow reader';

export interface Viewer {
  readonly grant: SocketGrant;
  /** Where it stands while it is behind; null while it is live. */
  behind: () => Cursor | null;
  /** Since when it has made no way, while it is behind. */
  behindSince: () => number | null;
  /** Sends a frame, live or not. */
  post: (frame: Frame) => void;
  /** What is sent to all; `text` is the frame, `at` the place behind it. */
  offer: (text: string, bytes: number, at: string) => void;
  /** Sends frames from `cursor` on as far as its window goes. Whether it is live then: it has all of them. */
  catchUp: (frames: Iterable<StreamFrame>, cursor: Cursor) => boolean;
  /** Whether there is room for more. */
  acknowledge: (n: number) => boolean;
  /** Ends it with the reason. `lastSeq` is of the live ones. */
  drop: (lastSeq: number) => void;
  isLost: () => boolean;
}

/** A live viewer. `onGone`: its socket takes nothing any more. */
export function createViewer(
  socket: WebSocket,
  grant: SocketGrant,
  { limits, now, onGone }: { limits: FlowLimits; now: () => number; onGone: () => void },
): Viewer {
  const flow = createFlow(limits);
  let behind: { cursor: Cursor; since: number } | null = null;
  let gone = false;

  const postText = (text: string, bytes: number): void => {
    try {
      socket.send(text);
      const probe = grant.trusted ? null : flow.send(bytes);
      if (probe !== null) socket.send(JSON.stringify({ frame: 'probe', n: probe } satisfies Frame));
    } catch {
      // Closed under us: its close handler may still be on its way.
      gone = true;
      onGone();
    }
  };
  const post = (frame: Frame): void => {
    const text = JSON.stringify(frame);
    postText(text, Buffer.byteLength(text));
  };
  return {
    grant,
    behind: () => behind?.cursor ?? null,
    behindSince: () => behind?.since ?? null,
    post(frame) {
      // Somebody who asks and asks, and does not read, is lost at some time too.
      if (flow.isFull()) flow.hold(JSON.stringify(frame).length);
      post(frame);
    },
    offer(text, bytes, at) {
      if (behind !== null) return flow.hold(bytes);
      postText(text, bytes);
      const place = flow.isFull() ? parsePlace(at) : null;
      if (place !== null) behind = { cursor: createCursor(place), since: now() };
    },
    catchUp(frames, cursor) {
      for (const frame of frames) {
        if (gone) return false;
        if (flow.isFull()) {
          behind = { cursor, since: now() };
          return false;
        }
        const news = cursor.advance(frame);
        if (news !== null) post(addCursor(news, cursor.text()));
      }
      behind = null;
      return true;
    },
    acknowledge(n) {
      const isNew = flow.ack(n);
      if (isNew && behind !== null) behind.since = now();
      return isNew && !flow.isFull();
    },
    drop(lastSeq) {
      try {
        const last_seq = behind?.cursor.lastSeq() ?? lastSeq;
        socket.send(JSON.stringify({ frame: 'dropped', reason: SLOW, last_seq } satisfies Frame));
        socket.close(DROPPED, SLOW);
      } catch {
        // It has gone by itself.
      }
      onGone();
    },
    isLost: () => flow.isLost(),
  };
}
