/** Copies a parent's log, piece by piece, into a database that is nobody's yet. */
import { type Outcome, PerchError, sessionDamaged } from '../errors.ts';
import type { ForkSession } from '../rpc.ts';
import { createBlobs, type SqlPort } from '../storage/index.ts';
import {
  createLog,
  type EventBody,
  eventBody,
  type Log,
  type LogEvent,
  type MessageId,
  namesOf,
  type Seq,
  type UserMessage,
} from '../transcript/index.ts';
import { closeTurn } from './close-turn.ts';
import { addToPrefix, createPrefix, type Prefix } from './prefix.ts';
import type { ForkPoint, ForkSource, LentRow } from './types.ts';

/** A statement takes at most a hundred bindings. */
const DIGESTS_AT_ONCE = 50;
/** Messages may be a megabyte each. */
const MESSAGES_AT_ONCE = 10;

export interface CopyPorts {
  sql: SqlPort;
  source: ForkSource;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** A named point, where tests hold or kill the object. */
  pass: (point: string) => Promise<void>;
}

interface Copy extends CopyPorts {
  input: ForkSession;
  point: ForkPoint;
  prefix: Prefix;
}

/**
 * Writes the events up to the point, `turn/end` where it is inside a turn, and a discard for each message that waits
 * there: the queue stays with the parent. Returns what the rows beside the log have to say. Throws the parent's errors.
 */
export async function copyLog(ports: CopyPorts, input: ForkSession, point: ForkPoint): Promise<Prefix> {
  const copy: Copy = { ...ports, input, point, prefix: createPrefix() };
  const { prefix, pass } = copy;
  for (let after = 0; after < point.at_seq; ) {
    after = await copyRows(copy, after);
    await pass('fork.paged');
  }
  const log = createLog(copy.sql, createBlobs(copy.sql), copy.now);
  closeOpenTurn(copy, log);
  await pass('fork.closed');
  for (const ids of chunk([...prefix.waiting.keys()], MESSAGES_AT_ONCE)) {
    await discardMessages(copy, log, ids);
    await pass('fork.discarded');
  }
  return prefix;
}

/** Copies the next rows with the blobs that they name; returns the last one's seq. */
async function copyRows({ sql, source, input, point, prefix }: Copy, after: number): Promise<number> {
  const { created_at } = point;
  const rows = unwrap(await source.forkRows({ created_at, after, end: point.at_seq }));
  const last = rows.at(-1);
  if (!last) throw sessionDamaged(`The parent's log ends at ${after}.`, { wrong: [`no event ${after + 1}`] });
  const long = rows.flatMap(({ data }) => spilledIn(data) ?? []);
  await copyBlobs(sql, source, created_at, long);
  const blobs = createBlobs(sql);
  const events = rows.map((row) => readRow(row, blobs.getText));
  await copyBlobs(sql, source, created_at, events.flatMap(namesOf));
  sql.atomically(() => {
    for (const [i, row] of rows.entries()) {
      const event = events[i];
      if (!event || event.seq !== after + i + 1) {
        throw sessionDamaged(`The parent's log has a gap.`, { wrong: [`no event ${after + i + 1}`] });
      }
      addToPrefix(prefix, event);
      const data = event.type === 'session/created' ? describeChild(event, input, point) : row.data;
      sql.run(
        'INSERT INTO events (seq, at, type, data) VALUES (?, ?, ?, ?)',
        row.seq,
        row.at,
        row.type,
        data,
      );
    }
  });
  return last.seq;
}

/** The one event that differs: the child says whose fork it is. */
function describeChild(event: LogEvent, input: ForkSession, point: ForkPoint): string {
  const { seq: _, at: __, ...body } = event;
  if (body.type !== 'session/created') return JSON.stringify(body);
  return JSON.stringify({
    ...body,
    model: input.model ?? point.model,
    metadata: input.metadata ?? point.metadata,
    parent: { session: input.parent, at_seq: point.at_seq },
  } satisfies EventBody);
}

/** `{"$blob": digest}` is what the log keeps of a long event. */
function spilledIn(data: string): string | null {
  return /^\{"\$blob":"([0-9a-f]{64})"\}$/.exec(data)?.[1] ?? null;
}

function readRow({ seq, at, data }: LentRow, readText: (digest: string) => string): LogEvent {
  const spilled = spilledIn(data);
  try {
    const body = eventBody.parse(JSON.parse(spilled === null ? data : readText(spilled)));
    return { ...body, seq: seq as Seq, at };
  } catch {
    // What the row says would be quoted.
    throw sessionDamaged(`Event ${seq} of the parent cannot be read.`, { wrong: [`event ${seq}`] });
  }
}

/** Copies what of these is not here yet: equal bytes are kept once. */
async function copyBlobs(
  sql: SqlPort,
  source: ForkSource,
  created_at: number,
  named: readonly string[],
): Promise<void> {
  const missing = [...new Set(named)].filter(
    (digest) => sql.all('SELECT 1 FROM blobs WHERE digest = ? LIMIT 1', digest).length === 0,
  );
  for (const digests of chunk(missing, DIGESTS_AT_ONCE)) {
    let after: { digest: string; part: number } | null = null;
    do {
      const lent: Awaited<ReturnType<ForkSource['forkBlobs']>> = await source.forkBlobs({
        created_at,
        digests,
        after,
      });
      const { parts, next } = unwrap(lent);
      for (const { digest, part, bytes } of parts) {
        sql.run('INSERT INTO blobs (digest, part, bytes) VALUES (?, ?, ?)', digest, part, bytes);
      }
      after = next;
    } while (after !== null);
  }
}

function closeOpenTurn({ prefix }: Copy, log: Log): void {
  if (prefix.openTurnSeq === 0) return;
  const end = closeTurn(log.read(prefix.openTurnSeq, log.lastSeq()));
  appendEvents(prefix, log, [end]);
}

/** An admitted message is a promise of the parent's: the child says that it will not be answered here. */
async function discardMessages(copy: Copy, log: Log, ids: readonly MessageId[]): Promise<void> {
  const { sql, source, input, point, prefix } = copy;
  const { created_at, at_seq } = point;
  const messages = unwrap(await source.forkMessages({ created_at, at_seq, ids: [...ids] }));
  const known = new Map(messages.map((message) => [message.id, message]));
  const discards = ids.flatMap((id): EventBody[] => {
    const admitted = prefix.waiting.get(id);
    if (!admitted) return [];
    const message = known.get(id) ?? toUnknown(id, admitted.source);
    return [
      { type: 'inbox/discarded', message, cause: `stays with ${input.parent}, of which this is a fork` },
    ];
  });
  await copyBlobs(sql, source, created_at, discards.flatMap(namesOf));
  appendEvents(prefix, log, discards);
}

/** A message whose row a repair took out: that it was, and who spoke, is all that is known. */
function toUnknown(id: MessageId, source: UserMessage['source']): UserMessage {
  return { id, role: 'user', source, content: [{ type: 'text', text: '' }] };
}

function appendEvents(prefix: Prefix, log: Log, bodies: readonly EventBody[]): void {
  const first = log.lastSeq() + 1;
  log.commit((append) => {
    for (const body of bodies) append(body);
  });
  for (const event of log.read(first, log.lastSeq())) addToPrefix(prefix, event);
}

export function unwrap<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw new PerchError(outcome.error);
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
