/**
 * A session's rooms without durability: nothing is written, nothing is serialised for a row, nothing survives. What the
 * loop reads and computes is the same, so what it takes less is what keeping costs.
 */
import { createInbox, type Inbox, type InboxItem, queueFor } from '../../../durable/inbox/inbox.ts';
import { type Blobs, type SessionState, type SqlPort, sha256Hex } from '../../../durable/storage/index.ts';
import { NO_SPEND } from '../../../durable/storage/session-rows.ts';
import {
  type Append,
  type Committed,
  createStreamBuffer,
  createSurface,
  type Log,
  type LogEvent,
  NO_USAGE,
  type StreamBuffer,
  type Surface,
} from '../../../durable/transcript/index.ts';

export interface MemoryRooms {
  log: Log;
  surface: Surface;
  stream: StreamBuffer;
  inbox: Inbox;
  blobs: Blobs;
  state: { read: () => SessionState; write: (change: Partial<SessionState>) => void };
}

/** Takes everything and has nothing. */
export const FORGETFUL_SQL: SqlPort = {
  all: () => [],
  run: () => undefined,
  atomically: (body) => body(),
  rowsWritten: () => 0,
};

export function createMemoryRooms(now: () => number): MemoryRooms {
  const log = createMemoryLog(now);
  const surface = createSurface(FORGETFUL_SQL, log);
  // Empty, and from here on it follows the log.
  surface.events();
  let state: SessionState = {
    turns: 0,
    openTurnSeq: 0,
    headerSeq: 0,
    listed: true,
    usage: NO_USAGE,
    spent: NO_SPEND,
    resumed: null,
    cancel: null,
  };
  return {
    log,
    surface,
    stream: createStreamBuffer(FORGETFUL_SQL, log, now),
    inbox: createMemoryInbox(log),
    blobs: createMemoryBlobs(),
    state: {
      read: () => state,
      write(change) {
        state = { ...state, ...change };
      },
    },
  };
}

function createMemoryLog(now: () => number): Log {
  const events: LogEvent[] = [];
  const observers: ((committed: Committed[]) => void)[] = [];
  const unread = (): never => {
    throw new Error('the loop does not read this');
  };
  return {
    lastSeq: () => events.length,
    commit(write) {
      const at = now();
      const committed: Committed[] = [];
      const append: Append = (body) => {
        const seq = (events.length + committed.length + 1) as ReturnType<Append>;
        committed.push({ event: { ...body, seq, at }, json: '' });
        return seq;
      };
      const result = write(append);
      for (const { event } of committed) events.push(event);
      if (committed.length > 0) for (const onCommit of observers) onCommit(committed);
      return result;
    },
    observe: (onCommit) => observers.push(onCommit),
    read: (first, last, types) =>
      events.slice(first - 1, last).filter(({ type }) => types === undefined || types.includes(type)),
    page: unread,
    readStep: unread,
    fateOf: unread,
    fateOfApproval: unread,
    newestBefore: unread,
  };
}

/** What the loop does not ask for is the inbox's own, over no rows. */
function createMemoryInbox(log: Log): Inbox {
  let items: InboxItem[] = [];
  let position = 0;
  const isNextStep = ({ queue }: InboxItem): boolean => queue === 'next-step';
  return {
    ...createInbox(FORGETFUL_SQL, log),
    add(delivery, message) {
      position += 1;
      items.push({ position, ...queueFor(delivery), message });
    },
    peekForTurn() {
      const prompt = items.find((item) => !isNextStep(item));
      return items.filter((item) => isNextStep(item) || item === prompt);
    },
    peekForStep: () => items.filter(isNextStep),
    remove(taken) {
      const gone = new Set(taken.map((item) => item.position));
      const removed = items.filter((item) => gone.has(item.position));
      items = items.filter((item) => !gone.has(item.position));
      return removed;
    },
    all: () => items,
    count: () => items.length,
    wakes: () => items.some(({ wakes }) => wakes),
    hasNextStep: () => items.some(isNextStep),
  };
}

function createMemoryBlobs(): Blobs {
  const kept = new Map<string, Uint8Array>();
  const get = (digest: string): Uint8Array => {
    const bytes = kept.get(digest);
    if (!bytes) throw new Error(`the blob ${digest} is missing`);
    return bytes;
  };
  return {
    put(value) {
      const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
      const digest = sha256Hex(bytes);
      kept.set(digest, bytes);
      return digest;
    },
    get,
    getText: (digest) => new TextDecoder().decode(get(digest)),
  };
}
