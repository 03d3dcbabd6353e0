/**
 * A session's frames, pulled by whoever reads them: first what the log has, in pages, then live from a hibernating
 * socket to the object. The socket may close (a deploy, a crash of the object) or be closed here because the reader is
 * slower than the session: either way the feed goes on from the last frame that it holds, out of the log. So memory is
 * bounded on both sides, a slow reader loses nothing, and one that goes away stops nothing but its own feed. One that
 * leaves frames lying for too long gets `dropped` as its last.
 */
import { type ErrorData, toErrorData, unavailable } from '../../durable/errors.ts';
import type { Frame, SessionRpc } from '../../durable/rpc.ts';
import { addCursor, createCursor, type StreamFrame } from '../../durable/stream-cursor.ts';
import { createPending } from './pending.ts';
import { createRetry } from './retry.ts';
import { type FeedStart, openSocket, readPage } from './source.ts';

/** A reader that takes nothing for this long, though something waits for it, is dropped. */
const SLOW_READER_MS = 60_000;

export interface Feed {
  /**
   * All that came since the last call, in order: at once, or when something comes. Empty after `waitMs` without a
   * frame; null at the end, which `failure` or a `dropped` frame before it explains.
   */
  next: (waitMs: number) => Promise<readonly Frame[] | null>;
  /** Why it ended by itself; null after `close`. */
  failure: () => ErrorData | null;
  close: () => void;
}

type Session = Pick<SessionRpc, 'fetch' | 'events'>;

/** Opens it. Throws `session_not_found`, and `unavailable` where the object does not answer. */
export async function openFeed(session: Session, start: FeedStart, slowMs = SLOW_READER_MS): Promise<Feed> {
  const link = createLink(session, start, slowMs);
  await link.advance();
  return {
    async next(waitMs) {
      const until = Date.now() + waitMs;
      for (;;) {
        const frames = link.take();
        if (frames.length > 0) return frames;
        if (link.isClosed()) return null;
        const left = until - Date.now();
        if (!link.isLive()) await link.resume();
        else if (left > 0) await link.wait(left);
        else return [];
      }
    },
    failure: link.failure,
    close: () => link.end(null),
  };
}

interface Link {
  take: () => Frame[];
  wait: (waitMs: number) => Promise<void>;
  isLive: () => boolean;
  isClosed: () => boolean;
  failure: () => ErrorData | null;
  /** One stage on: a page of the log, or the socket at the log's end. */
  advance: () => Promise<void>;
  /** The same after a pause that fits the failures so far; gives up by ending the link. */
  resume: () => Promise<void>;
  end: (reason: ErrorData | null) => void;
}

function createLink(session: Session, start: FeedStart, slowMs: number): Link {
  const cursor = createCursor('after' in start ? start.after : { seq: 0, part: null });
  /** The newest event that the reader has. */
  let taken = cursor.lastSeq();
  const pending = createPending({ afterMs: slowMs, drop: () => end(null, dropped()) });
  const retry = createRetry();
  let socket: WebSocket | null = null;
  /** Whether the log may hold more than a socket should be asked to repeat. */
  let behind = 'after' in start;
  let ended: { reason: ErrorData | null } | null = null;

  const dropped = (): Frame => ({ frame: 'dropped', reason: 'slow reader', last_seq: taken });
  const receive = (frame: StreamFrame, units: number): void => {
    const news = cursor.advance(frame);
    if (news === null) return;
    if (news.frame === 'event') retry.succeed();
    pending.put(addCursor(news, cursor.text()), units);
  };
  const leave = (): void => {
    const left = socket;
    socket = null;
    behind = cursor.lastSeq() > 0;
    left?.close(1000, 'done');
    pending.wake();
  };
  const end = (reason: ErrorData | null, last: Frame | null = null): void => {
    ended ??= { reason };
    leave();
    pending.end(last);
  };
  const connect = async (): Promise<void> => {
    const opened = Date.now();
    const next = await openSocket(session, cursor.lastSeq() > 0 ? { after: cursor.place() } : start, {
      receive(from, frame, units) {
        if (from !== socket || !isStreamFrame(frame)) return;
        receive(frame, units);
        if (pending.isFull()) leave();
      },
      lose(from) {
        if (from !== socket) return;
        retry.fail(Date.now() - opened);
        leave();
      },
    });
    if (ended === null) socket = next;
    next.accept();
    if (ended !== null) next.close(1000, 'done');
  };
  const catchUp = async (): Promise<void> => {
    const page = await readPage(session, cursor.lastSeq());
    for (const frame of page.frames) receive(frame, frame.frame === 'event' ? frame.data.length : 0);
    behind = page.more;
  };
  const advance = (): Promise<void> => (behind ? catchUp() : connect());
  const resume = async (): Promise<void> => {
    const delay = retry.delay();
    if (delay === null) return end(unavailable('The session cannot be reached.').data);
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    await advance().catch((error: unknown) => {
      const data = toErrorData(error);
      if (data.code === 'session_not_found') end(data);
      else retry.fail(0);
    });
  };
  return {
    take() {
      const frames = pending.take();
      for (const frame of frames) if (frame.frame === 'event') taken = frame.seq;
      return frames;
    },
    wait: pending.wait,
    isLive: () => socket !== null,
    isClosed: () => ended !== null,
    failure: () => ended?.reason ?? null,
    advance,
    resume,
    end,
  };
}

/** The others are for a socket's client. */
function isStreamFrame(frame: Frame): frame is StreamFrame {
  return frame.frame === 'event' || frame.frame === 'delta' || frame.frame === 'restart';
}
