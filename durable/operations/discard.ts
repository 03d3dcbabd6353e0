/** What waits in the inbox: listed, and taken out before a turn takes it. */
import { messageClaimed, messageNotFound } from '../errors.ts';
import { type InboxItem, toClaimOrder } from '../inbox/index.ts';
import type { QueuedMessage, SessionView } from '../rpc.ts';
import type { Append } from '../transcript/index.ts';
import { describeSession, type SessionParts } from '../wiring.ts';
import { restIfIdle } from './drive.ts';
import { type Host, refuseDamagedInbox, requireLive } from './host.ts';

/** In the order in which it will be claimed. */
export function listQueued(host: Host): QueuedMessage[] {
  const live = requireLive(host);
  refuseDamagedInbox(live);
  const { inbox, turn } = live.parts;
  const isTurnUnderWay = (turn()?.step ?? 0) > 0;
  return toClaimOrder(inbox.all(), isTurnUnderWay).map(({ queue, wakes, message }) => {
    const { id, source, content } = message;
    return { id, queue, wakes, source, content };
  });
}

/**
 * One message, or for null all that wait. What a step is being prepared with is claimed already. Throws
 * `message_not_found` for an id that was never admitted or was discarded, and `message_claimed`.
 */
export async function discardMessages(
  host: Host,
  input: { by: string; message: string | null },
): Promise<SessionView> {
  const live = requireLive(host);
  refuseDamagedInbox(live);
  const { parts, driver } = live;
  const items = input.message === null ? findFree(parts) : [findOne(parts, input.message)];
  if (items.length > 0) {
    parts.log.commit((append) => discardAll(parts, append, items, `discarded by ${input.by}`));
    await host.faults.hit('discard.committed');
    restIfIdle(host);
  }
  return describeSession(parts, driver.isRunning());
}

/** Part of a commit. Returns how many events it appended. */
export function discardAll(
  { inbox }: SessionParts,
  append: Append,
  items: readonly InboxItem[],
  cause: string,
): number {
  const removed = inbox.remove(items);
  for (const { message } of removed) append({ type: 'inbox/discarded', message, cause });
  return removed.length;
}

function findFree({ inbox, turn }: SessionParts): InboxItem[] {
  return inbox.all().filter((item) => turn() === null || !inbox.isClaimed(item));
}

function findOne({ inbox, turn, log }: SessionParts, id: string): InboxItem {
  const item = inbox.find(id);
  if (item && (turn() === null || !inbox.isClaimed(item))) return item;
  const claimed = item !== undefined || isTaken(log.fateOf(id));
  if (claimed) throw messageClaimed('A turn has taken it; cancel the turn to stop it.', { message: id });
  throw messageNotFound('No message of this id waits here, and none was taken.', { message: id });
}

/** A message that was admitted, does not wait and was not discarded is in a turn. */
function isTaken(fate: ReturnType<SessionParts['log']['fateOf']>): boolean {
  return fate !== null && !fate.isDiscarded;
}
