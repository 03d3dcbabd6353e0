/** The inbox and the log say the same of every message: it waits in the one, or was accounted for in the other. */
import type { Inbox } from '../../inbox/index.ts';
import type { Blobs } from '../../storage/index.ts';
import type { EventBody, Log, LogEventOf, MessageId, MessageSource } from '../../transcript/index.ts';
import type { Mend } from './mend.ts';

/**
 * Takes out the rows that cannot be read and keeps their bytes. Their messages are discarded in the log, so that what was
 * acknowledged is accounted for.
 */
export function mendUnreadable(inbox: Inbox, log: Log, blobs: Blobs): Mend[] {
  const rows = inbox.findUnreadable();
  inbox.removeUnreadable(rows);
  return rows.map(({ id, text }) => {
    const kept = blobs.put(text);
    const fate = log.fateOf(id);
    const source = fate && !fate.isDiscarded ? readSource(log, fate.admitted) : null;
    const said = `The message could not be read. Its row is kept as blob ${kept}.`;
    return {
      did: `Message ${id} in the inbox could not be read and was discarded. Its row is kept as blob ${kept}.`,
      events: source ? [discardLost(id as MessageId, source, said)] : [],
    };
  });
}

/** `waiting`: the messages of which the log says that they wait, by id. */
export function mendDifferences(
  inbox: Inbox,
  log: Log,
  waiting: ReadonlyMap<MessageId, LogEventOf<'inbox/admitted'>>,
): Mend[] {
  const there = new Set<string>(inbox.ids());
  const lost = [...waiting.values()].filter(({ message }) => !there.has(message));
  const isWaiting = new Set<string>(waiting.keys());
  const done = [...there].filter((id) => !isWaiting.has(id) && log.fateOf(id) !== null);
  for (const id of done) inbox.removeById(id);
  return [
    ...lost.map(({ message, source }) => ({
      did: `Message ${message} was lost from the inbox and is discarded.`,
      events: [discardLost(message, source, 'The message was lost from the inbox.')],
    })),
    ...done.map((id) => ({
      did: `Message ${id} still waited in the inbox though the log had accounted for it; it waits no more.`,
      events: [],
    })),
  ];
}

function readSource(log: Log, seq: number): MessageSource | null {
  const [event] = log.read(seq, seq);
  return event?.type === 'inbox/admitted' ? event.source : null;
}

function discardLost(id: MessageId, source: MessageSource, text: string): EventBody {
  return {
    type: 'inbox/discarded',
    message: { id, role: 'user', source, content: [{ type: 'text', text }] },
    cause: 'a fault',
  };
}
