/**
 * Two durable, ordered queues of admitted messages. A step claims from them; what is claimed leaves in the same
 * commit that writes it into the log, so a message is at every moment in exactly one of the two.
 */
import { z } from 'zod';
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

export interface Inbox {
  add: (delivery: Delivery, message: UserMessage) => void;
  /** What a turn's first step takes: all of next-step and one of next-turn, as admitted. Nothing is removed yet. */
  peekForTurn: () => InboxItem[];
  /** What a later step takes: all of next-step. */
  peekForStep: () => InboxItem[];
  /**
   * Part of the commit that accounts for the messages. Returns those that were still there: a claim may have been
   * discarded meanwhile, and its position may be another message's by now.
   */
  remove: (items: readonly InboxItem[]) => InboxItem[];
  all: () => InboxItem[];
  count: () => number;
  /** Whether something waits that starts a turn by itself: a followup or a steer; an inject waits for one. */
  wakes: () => boolean;
  hasNextStep: () => boolean;
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

type Row = { position: number; queue: string; wakes: number; message: string };
type Counts = { nextTurn: number; nextStep: number; waking: number };
const stored = z.string().transform((text) => userMessage.parse(JSON.parse(text)));

export function createInbox(sql: SqlPort, log: Pick<Log, 'observe'>): Inbox {
  const select = (where: string): InboxItem[] =>
    sql
      .all<Row>(`SELECT position, queue, wakes, message FROM inbox ${where}`)
      .map(({ position, queue, wakes, message }) => ({
        position,
        queue: queue === 'next-step' ? 'next-step' : 'next-turn',
        wakes: wakes === 1,
        message: stored.parse(message),
      }));
  // Counts spare the loop a query at each boundary; the two writers below keep them.
  let known: Counts | null = null;
  log.observe(
    () => undefined,
    () => {
      known = null;
    },
  );
  const counts = (): Counts => {
    known ??= sql.all<Counts>(
      `SELECT count(*) FILTER (WHERE queue = 'next-turn') AS nextTurn,
        count(*) FILTER (WHERE queue = 'next-step') AS nextStep,
        count(*) FILTER (WHERE wakes = 1) AS waking
      FROM inbox`,
    )[0] ?? { nextTurn: 0, nextStep: 0, waking: 0 };
    return known;
  };
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
    peekForTurn: () =>
      select(`WHERE queue = 'next-step'
        OR position = (SELECT min(position) FROM inbox WHERE queue = 'next-turn') ORDER BY position`),
    peekForStep: () => (counts().nextStep > 0 ? select("WHERE queue = 'next-step' ORDER BY position") : []),
    remove(items) {
      const removed = items.filter(
        ({ position, message }) =>
          sql.all('DELETE FROM inbox WHERE position = ? AND id = ? RETURNING position', position, message.id)
            .length > 0,
      );
      for (const { queue, wakes } of removed) if (known) known = count(known, queue, wakes, -1);
      return removed;
    },
    all: () => select('ORDER BY position'),
    count: () => counts().nextTurn + counts().nextStep,
    wakes: () => counts().waking > 0,
    hasNextStep: () => counts().nextStep > 0,
  };
}

function count(counts: Counts, queue: Queue, wakes: boolean, by: 1 | -1): Counts {
  const { nextTurn, nextStep, waking } = counts;
  return {
    nextTurn: nextTurn + (queue === 'next-turn' ? by : 0),
    nextStep: nextStep + (queue === 'next-step' ? by : 0),
    waking: waking + (wakes ? by : 0),
  };
}
