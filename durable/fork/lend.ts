/** The parent's side of a fork: pieces of its log, its blobs and its messages, each of a bounded size. */
import { type Outcome, sessionNotFound } from '../errors.ts';
import type { Identity, SessionState, SqlPort } from '../storage/index.ts';
import { type Log, type UserMessage, userMessage } from '../transcript/index.ts';
import { checkBoundary, findNewestBoundary } from './boundary.ts';
import type { ForkPoint, ForkSource, LentPart, LentParts, LentRow } from './types.ts';

/** One piece: well under what a call carries (32 MB), and a pleasant part of an isolate's memory. */
const PIECE_BYTES = 1_000_000;
const PIECE_ROWS = 1_000;
/** Events of the log looked through at once for messages: each may be as long as a message may be. */
const SEARCH_EVENTS = 50;

export interface LenderPorts {
  sql: SqlPort;
  identity: Identity;
  log: Log;
  state: { read: () => SessionState };
}

type Unwrapped<T> = T extends (...args: infer Args) => Promise<Outcome<infer Value>>
  ? (...args: Args) => Value
  : never;
/** The methods of `ForkSource`, before they are wrapped for RPC. */
export type Lender = { [Name in keyof ForkSource]: Unwrapped<ForkSource[Name]> };

export function createLender({ sql, identity, log, state }: LenderPorts): Lender {
  const checkParent = ({ created_at }: { created_at: number }): void => {
    if (created_at !== identity.created_at) throw sessionNotFound('The session is another one by now.');
  };
  return {
    forkPoint(atSeq): ForkPoint {
      const { agent, cwd, persona, tools, model, metadata, created_at } = identity;
      const at_seq =
        atSeq === null ? findNewestBoundary(sql, state.read().openTurnSeq) : checkBoundary(sql, atSeq);
      return { at_seq, agent, cwd, persona, tools, model, metadata, created_at };
    },
    forkRows(ask) {
      checkParent(ask);
      return readRows(sql, ask.after, ask.end);
    },
    forkBlobs(ask) {
      checkParent(ask);
      return readParts(sql, ask.digests, ask.after);
    },
    forkMessages(ask) {
      checkParent(ask);
      return findMessages(sql, log, ask.at_seq, ask.ids);
    },
  };
}

function readRows(sql: SqlPort, after: number, end: number): LentRow[] {
  const sizes = sql.all<{ seq: number; size: number }>(
    'SELECT seq, length(data) AS size FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?',
    after,
    end,
    PIECE_ROWS,
  );
  const last = sizes[countFitting(sizes) - 1];
  if (!last) return [];
  return sql.all<LentRow & Record<string, string | number>>(
    'SELECT seq, at, type, data FROM events WHERE seq > ? AND seq <= ? ORDER BY seq',
    after,
    last.seq,
  );
}

function readParts(
  sql: SqlPort,
  digests: readonly string[],
  after: { digest: string; part: number } | null,
): LentParts {
  const named = digests.map(() => '?').join(',');
  const from = after ?? { digest: '', part: -1 };
  const sizes = sql.all<{ digest: string; part: number; size: number }>(
    `SELECT digest, part, length(bytes) AS size FROM blobs
      WHERE digest IN (${named}) AND (digest, part) > (?, ?) ORDER BY digest, part`,
    ...digests,
    from.digest,
    from.part,
  );
  const fitting = sizes.slice(0, countFitting(sizes));
  const parts = fitting.flatMap(({ digest, part }) =>
    sql.all<LentPart & Record<string, string | number | ArrayBuffer>>(
      'SELECT digest, part, bytes FROM blobs WHERE digest = ? AND part = ?',
      digest,
      part,
    ),
  );
  const last = fitting.at(-1);
  const next = last && fitting.length < sizes.length ? { digest: last.digest, part: last.part } : null;
  return { parts, next };
}

/** How many of them make a piece: at least one. */
function countFitting(sizes: readonly { size: number }[]): number {
  let total = 0;
  const over = sizes.findIndex(({ size }) => {
    total += size;
    return total > PIECE_BYTES;
  });
  return over < 0 ? sizes.length : Math.max(1, over);
}

/** A message that waits is in the inbox; one that was accounted for since is in the log. */
function findMessages(sql: SqlPort, log: Log, atSeq: number, ids: readonly string[]): UserMessage[] {
  const wanted = new Set(ids);
  const found: UserMessage[] = [];
  const take = (message: UserMessage): void => {
    if (wanted.delete(message.id)) found.push(message);
  };
  for (const id of ids) {
    const [row] = sql.all<{ message: string }>('SELECT message FROM inbox WHERE id = ?', id);
    if (row) take(userMessage.parse(JSON.parse(row.message)));
  }
  for (let first = atSeq + 1; wanted.size > 0 && first <= log.lastSeq(); first += SEARCH_EVENTS) {
    for (const event of log.read(first, first + SEARCH_EVENTS - 1, ['user/message', 'inbox/discarded'])) {
      if (event.type === 'user/message' || event.type === 'inbox/discarded') take(event.message);
    }
  }
  return found;
}
