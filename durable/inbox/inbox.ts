/**
 * Two durable, ordered queues of admitted messages. A step claims from them; what is claimed leaves in the same
 * commit that writes it into the log, so a message is at every moment in exactly one of the two.
 */
import { z } from 'zod';
import { sessionDamaged } from '../errors.ts';
import type { SqlPort } from '../storage/index.ts';
import { assertNever, type Delivery, type Log, type UserMessage, userMessage } from '../transcript/index.ts';

export type Queue = 'next-turn' | 'next-step';

export interface InboxItem {
  position: number;
  queue: Queue;
  /** Starts a turn by itself. */
  wakes: boolean;
  message: UserMessage;
}

/** A row that cannot be read: whose message it is, as far as it says so, and its text. */
export interface UnreadableItem {
  position: number;
  id: string;
  text: string;
}

export interface Inbox {
  add: (delivery: Delivery, message: UserMessage) => void;
  /**
   * What a turn's first step takes: all of next-step and one of next-turn, as admitted. Nothing is removed yet, but the
   * claim is taken: see `isClaimed`.
   */
  peekForTurn: () => InboxItem[];
  /** What a later step takes: all of next-step. The claim is taken. */
  peekForStep: () => InboxItem[];
  /** What the next turn's first step would take, for showing it. */
  previewTurn: () => InboxItem[];
  /**
   * Whether the newest claim holds it: nobody but a cancel takes it out again, because its step may be entered at any
   * moment. Says nothing between turns. Kept in memory: after a restart, the message waits again.
   */
  isClaimed: (item: InboxItem) => boolean;
  /**
   * Part of the commit that accounts for the messages. Returns those that were still there: a claim may have been
   * discarded meanwhile, and its position may be another message's by now.
   */
  remove: (items: readonly InboxItem[]) => InboxItem[];
  /** Everything, read or not: for a session that is erased. */
  clear: () => void;
  all: () => InboxItem[];
  find: (message: string) => InboxItem | undefined;
  count: () => number;
  /** Whether something waits that starts a turn by itself: a followup or a steer; an inject waits for one. */
  wakes: () => boolean;
  hasNextStep: () => boolean;
  /** Ids of all that is in the table, read or not. */
  ids: () => string[];
  /** Whether rows are known that a fault left unreadable. They are no part of the queues: a repair takes them out. */
  isDamaged: () => boolean;
  /** Reads every row to find them. */
  findUnreadable: () => UnreadableItem[];
  /** These and the next are part of the repair's commit. */
  removeUnreadable: (items: readonly UnreadableItem[]) => void;
  removeById: (message: string) => void;
}

export function queueFor(delivery: Delivery): { queue: Queue; wakes: boolean } {
  switch (delivery) {
    case 'followup':
      return { queue: 'next-turn', wakes: true };
    case 'steer':
      return { queue: 'next-step', wakes: true };
    case 'inject':
      return { queue: 'next-step', wakes: false };
    default:
      return assertNever(delivery);
  }
}

type Row = { position: number; id: string; queue: string; wakes: number; message: string };
type Counts = { nextTurn: number; nextStep: number; waking: number; unreadable: number };
const NONE: Counts = { nextTurn: 0, nextStep: 0, waking: 0, unreadable: 0 };

/** Rows that pass it are messages but for details that only the schema knows. */
const READABLE = `CASE WHEN json_valid(message) THEN json_extract(message, '$.id') = id
  AND json_type(message, '$.content') = 'array' AND json_type(message, '$.source.kind') = 'text'
  AND queue IN ('next-turn', 'next-step') ELSE 0 END`;
const stored = z.string().transform((text, context) => {
  const parsed = userMessage.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  context.addIssue('the message is none');
  return z.NEVER;
});

export function createInbox(sql: SqlPort, log: Pick<Log, 'observe'>): Inbox {
  /** Rows that only the schema found out, by position. */
  const refused = new Set<number>();
  let claimed = new Set<number>();

  /** Reads again where a row turned out to be unreadable: another one may be the first then. */
  const select = (where: () => string, ...bindings: string[]): InboxItem[] => {
    for (;;) {
      const rows = sql.all<Row>(
        `SELECT position, id, queue, wakes, message FROM inbox WHERE ${readable()} AND (${where()}) ORDER BY position`,
        ...bindings,
      );
      const items = rows.flatMap(readRow);
      if (items.length === rows.length) return items;
      known = null;
    }
  };
  const readRow = ({ position, queue, wakes, message }: Row): InboxItem[] => {
    const parsed = stored.safeParse(message);
    if (!parsed.success) {
      refused.add(position);
      return [];
    }
    const name: Queue = queue === 'next-step' ? 'next-step' : 'next-turn';
    return [{ position, queue: name, wakes: wakes === 1, message: parsed.data }];
  };
  // Counts spare the loop a query at each boundary; the writers below keep them.
  let known: Counts | null = null;
  log.observe(
    () => undefined,
    () => {
      known = null;
    },
  );
  const isRefused = (): string => `position IN (${[...refused].join(',')})`;
  const readable = (): string => (refused.size === 0 ? READABLE : `(${READABLE}) AND NOT ${isRefused()}`);
  const counts = (): Counts => {
    known ??=
      sql.all<Counts>(
        `SELECT count(*) FILTER (WHERE ok AND queue = 'next-turn') AS nextTurn,
          count(*) FILTER (WHERE ok AND queue = 'next-step') AS nextStep,
          count(*) FILTER (WHERE ok AND wakes = 1) AS waking,
          count(*) FILTER (WHERE ok IS NOT 1) AS unreadable
        FROM (SELECT queue, wakes, ${readable()} AS ok FROM inbox)`,
      )[0] ?? NONE;
    return known;
  };
  const claim = (items: InboxItem[]): InboxItem[] => {
    claimed = new Set(items.map(({ position }) => position));
    return items;
  };
  const selectForTurn = (): InboxItem[] =>
    select(
      () => `queue = 'next-step' OR position = (
        SELECT min(position) FROM inbox WHERE queue = 'next-turn' AND ${readable()})`,
    );
  return {
    add(delivery, message) {
      const { queue, wakes } = queueFor(delivery);
      const text = JSON.stringify(message);
      const flag = wakes ? 1 : 0;
      sql.run(
        'INSERT INTO inbox (id, queue, wakes, message) VALUES (?, ?, ?, ?)',
        message.id,
        queue,
        flag,
        text,
      );
      if (known) known = count(known, queue, wakes, 1);
    },
    peekForTurn() {
      const before = refused.size;
      const items = selectForTurn();
      // What started the turn cannot be read: the turn says so, and nothing starts another one for it.
      if (items.length === 0 && refused.size > before) {
        throw sessionDamaged('A message in the inbox cannot be read. A repair takes it out.');
      }
      return claim(items);
    },
    peekForStep: () => claim(counts().nextStep > 0 ? select(() => "queue = 'next-step'") : []),
    previewTurn: selectForTurn,
    isClaimed: ({ position }) => claimed.has(position),
    remove(items) {
      const removed = items.filter(
        ({ position, message }) =>
          sql.all('DELETE FROM inbox WHERE position = ? AND id = ? RETURNING position', position, message.id)
            .length > 0,
      );
      for (const { position, queue, wakes } of removed) {
        claimed.delete(position);
        if (known) known = count(known, queue, wakes, -1);
      }
      return removed;
    },
    clear() {
      sql.run('DELETE FROM inbox');
      known = null;
    },
    all: () => select(() => 'true'),
    find: (message) => select(() => 'id = ?', message)[0],
    count: () => counts().nextTurn + counts().nextStep,
    wakes: () => counts().waking > 0,
    hasNextStep: () => counts().nextStep > 0,
    ids: () => sql.all<{ id: string }>('SELECT id FROM inbox ORDER BY position').map(({ id }) => id),
    isDamaged: () => counts().unreadable > 0,
    findUnreadable() {
      for (const { position } of sql.all<{ position: number }>(
        `SELECT position FROM inbox WHERE ${readable()}`,
      )) {
        const [row] = sql.all<{ message: string }>('SELECT message FROM inbox WHERE position = ?', position);
        if (!stored.safeParse(row?.message).success) refused.add(position);
      }
      known = null;
      return sql.all<{ position: number; id: string; text: string }>(
        `SELECT position, id, message AS text FROM inbox WHERE (${readable()}) IS NOT 1 ORDER BY position`,
      );
    },
    removeUnreadable(items) {
      for (const { position } of items) {
        sql.run('DELETE FROM inbox WHERE position = ?', position);
        refused.delete(position);
      }
      known = null;
    },
    removeById(message) {
      sql.run('DELETE FROM inbox WHERE id = ?', message);
      known = null;
    },
  };
}

/**
 * The order in which what waits will be claimed: with the next step all of next-step, and beside it, or after it where
 * a turn has begun its first step, one of next-turn; then the others of next-turn. `items` by position.
 */
export function toClaimOrder(items: readonly InboxItem[], isTurnUnderWay: boolean): InboxItem[] {
  const prompt = isTurnUnderWay ? undefined : items.find(({ queue }) => queue === 'next-turn');
  const isNext = (item: InboxItem): boolean => item.queue === 'next-step' || item === prompt;
  return [...items.filter(isNext), ...items.filter((item) => !isNext(item))];
}

function count(counts: Counts, queue: Queue, wakes: boolean, by: 1 | -1): Counts {
  const { nextTurn, nextStep, waking, unreadable } = counts;
  return {
    nextTurn: nextTurn + (queue === 'next-turn' ? by : 0),
    nextStep: nextStep + (queue === 'next-step' ? by : 0),
    waking: waking + (wakes ? by : 0),
    unreadable,
  };
}
