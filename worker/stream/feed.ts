/**
 * A session's frames, pulled by whoever reads them: first what the log has, in pages, then live from a hibernating
 * socket to the object. The socket may close (a deploy, a crash of the object) or be closed here because the reader is
 * slower than the session: either way the feed goes on from the last frame that it holds, out of the log. So memory is
 * bounded on both sides, a slow reader loses nothing, and one that goes away stops nothing but its own feed.
 */
import { type ErrorData, toErrorData, unavailable } from '../../durable/errors.ts';
import type { Frame, SessionRpc } from '../../durable/rpc.ts';
import { createCursor } from './cursor.ts';
import { createPending } from './pending.ts';
import { createRetry } from './retry.ts';
import { type FeedStart, openSocket, readPage } from './source.ts';

export interface Feed {
  /**
   * All that came since the last call, in order: at once, or when something comes. Empty after `waitMs` without a
   * frame; null at the end, which `failure` explains.
   */
  next: (waitMs: number) => Promise<readonly Frame[] | null>;
  /** Why it ended by itself; null after `close`. */
  failure: () => ErrorData | null;
  close: () => void;
}

type Session = Pick<SessionRpc, 'fetch' | 'events'>;

/** Opens it. Throws `session_not_found`, and `unavailable` where the object does not answer. */
export async function openFeed(session: Session, start: FeedStart): Promise<Feed> {
  const link = createLink(session, start);
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

function createLink(session: Session, start: FeedStart): Link {
  const cursor = createCursor('after' in start ? start.after : 0);
  const pending = createPending();
  const retry = createRetry();
  let socket: WebSocket | null = null;
  /** Whether the log may hold more than a socket should be asked to repeat. */
  let behind = 'after' in start;
  let ended: { reason: ErrorData | null } | null = null;

  const take = (frame: Frame, units: number): void => {
    const news = cursor.advance(frame);
    if (news === null) return;
    if (news.frame === 'event') retry.succeed();
    pending.put(news, units);
  };
  const leave = (): void => {
    const left = socket;
    socket = null;
    behind = cursor.lastSeq() > 0;
    left?.close(1000, 'done');
    pending.wake();
  };
  const end = (reason: ErrorData | null): void => {
    ended ??= { reason };
    leave();
    pending.end();
  };
  const connect = async (): Promise<void> => {
    const opened = Date.now();
    const next = await openSocket(session, cursor.lastSeq() > 0 ? { after: cursor.lastSeq() } : start, {
      receive(from, frame, units) {
        if (from !== socket) return;
        take(frame, units);
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
    for (const frame of page.frames) take(frame, frame.data.length);
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
    take: pending.take,
    wait: pending.wait,
    isLive: () => socket !== null,
    isClosed: () => ended !== null,
    failure: () => ended?.reason ?? null,
    advance,
    resume,
    end,
  };
}
