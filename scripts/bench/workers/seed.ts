/**
 * Fills a session's log in bulk, as turns that were answered long ago, and bounds its surface as a compaction would:
 * the catalog and a tail of messages. Only rows; the object must be built anew to see them.
 */
import type { EventBody, MessageId } from '../../../durable/transcript/events.ts';

/** Events at the log's end that stay on the surface. */
const TAIL_EVENTS = 60;
const TEXT = 'The deployment of the morning went out in three waves, and the second was held for an hour. ';

type Storage = Pick<DurableObjectStorage, 'sql' | 'transactionSync'>;

/** Appends whole turns until the log has at least `events`; returns how many it has. A smaller number adds nothing. */
export function seedLog(storage: Storage, events: number): number {
  const { sql } = storage;
  const count = (): number => Number(sql.exec('SELECT max(seq) AS seq FROM events').one()['seq'] ?? 0);
  const first = count();
  if (first >= events) return first;
  storage.transactionSync(() => {
    let seq = first;
    let turn = Number(sql.exec('SELECT turns FROM state').one()['turns']);
    const now = Date.now();
    while (seq < events) {
      turn++;
      for (const body of pastTurn(turn)) {
        sql.exec(
          'INSERT INTO events (seq, at, type, data) VALUES (?, ?, ?, ?)',
          ++seq,
          now,
          body.type,
          JSON.stringify(body),
        );
      }
    }
    sql.exec('UPDATE state SET turns = ?', turn);
    boundSurface(sql, seq);
  });
  return count();
}

function boundSurface(sql: SqlStorage, last: number): void {
  const [catalog] = sql
    .exec("SELECT seq FROM events WHERE type = 'user/message' AND data LIKE '%skill-catalog%' LIMIT 1")
    .toArray();
  const kept = catalog ? [Number(catalog['seq'])] : [];
  sql.exec('DELETE FROM surface');
  for (const seq of kept) sql.exec('INSERT INTO surface (first, last) VALUES (?, ?)', seq, seq);
  sql.exec('INSERT INTO surface (first, last) VALUES (?, NULL)', last - TAIL_EVENTS + 1);
}

function pastTurn(turn: number): EventBody[] {
  const message = `msg_seeded_${turn}` as MessageId;
  const step = 1;
  const usage = { input: 900, input_cached: 0, input_cache_write: 0, output: 60, reasoning: 0 };
  return [
    { type: 'inbox/admitted', message, delivery: 'followup', source: { kind: 'user' }, wakes: true },
    { type: 'turn/start', turn },
    { type: 'step/start', turn, step, claimed: [message] },
    {
      type: 'user/message',
      turn,
      step,
      message: {
        id: message,
        role: 'user',
        source: { kind: 'user' },
        content: [{ type: 'text', text: `What happened in wave ${turn}?` }],
      },
      surface: 'append',
    },
    { type: 'request/attempt', turn, step, attempt: 1, digest: '' },
    {
      type: 'assistant/message',
      turn,
      step,
      attempt: 1,
      content: [{ type: 'text', text: TEXT.repeat(4) }],
      finish: 'stop',
      usage,
      model: 'calls-0',
      surface: 'append',
    },
    { type: 'step/end', turn, step },
    { type: 'turn/end', turn, steps: 1, reason: { kind: 'completed' }, usage },
  ];
}
