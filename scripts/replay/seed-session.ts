/** Puts a recording's beginning into a database, as the session's object had it at that place. */
import { addToPrefix, createPrefix } from '../../durable/fork/index.ts';
import { createInbox } from '../../durable/inbox/index.ts';
import type { CreateSession } from '../../durable/rpc.ts';
import {
  createBlobs,
  migrate,
  readState,
  type SqlPort,
  writeIdentity,
  writeState,
} from '../../durable/storage/index.ts';
import { createLog, writeRanges } from '../../durable/transcript/index.ts';
import type { RecordedSession } from './recorded-session.ts';

/** The events up to `end`, the rows beside them, and the queue. A turn that is open there goes on when it is opened. */
export function seedSession(
  sql: SqlPort,
  session: RecordedSession,
  create: CreateSession & { agent: string },
  end: number,
): void {
  const { events, blobs, messages, created } = session;
  migrate(sql);
  const store = createBlobs(sql);
  for (const bytes of blobs.values()) store.put(bytes);
  writeIdentity(sql, create, create.agent, created.cwd, created.at);
  const prefix = createPrefix();
  for (const event of events.slice(0, end)) {
    addToPrefix(prefix, event);
    const { seq, at, ...body } = event;
    const data = JSON.stringify(body);
    sql.run('INSERT INTO events (seq, at, type, data) VALUES (?, ?, ?, ?)', seq, at, body.type, data);
  }
  writeRanges(sql, prefix.surface);
  const { turns, headerSeq, openTurnSeq, usage, spent } = prefix;
  writeState(sql, { ...readState(sql), turns, headerSeq, openTurnSeq, usage, spent });
  const inbox = createInbox(
    sql,
    createLog(sql, store, () => prefix.at),
  );
  for (const { message: id, delivery } of prefix.waiting.values()) {
    const message = messages.get(id);
    if (message) inbox.add(delivery, message);
  }
}
