/**
 * Where in the log a message was admitted: what a reply stream begins with. It is asked for on the way to the first
 * byte of an answer, so the common cases cost a look into memory: the message is still to come, or came just now.
 */
import type { Committed, Log } from '../transcript/index.ts';

/** Admissions remembered; a stream is opened beside its admission, not hundreds of messages later. */
const REMEMBERED = 256;
/** Events before this life of the object in which an admission is looked for: it may have ended between the two. */
const EARLIER_EVENTS = 2_000;
/** A stream that was opened beside an admission of an earlier life comes soon after the restart, or not at all. */
const EARLIER_MS = 10_000;

export interface Admissions {
  note: (committed: readonly Committed[]) => void;
  /** The seq of the message's `inbox/admitted`; null where it is not known (yet). */
  find: (message: string) => number | null;
}

export function createAdmissions(log: Pick<Log, 'lastSeq' | 'read'>, now: () => number): Admissions {
  const seqs = new Map<string, number>();
  const born = { at: now(), seq: log.lastSeq() };

  const findEarlier = (message: string): number | null => {
    if (born.seq === 0 || now() - born.at > EARLIER_MS) return null;
    const admitted = log
      .read(Math.max(1, born.seq - EARLIER_EVENTS), born.seq, ['inbox/admitted'])
      .find((event) => event.type === 'inbox/admitted' && event.message === message);
    return admitted?.seq ?? null;
  };
  return {
    note(committed) {
      for (const { event } of committed) {
        if (event.type !== 'inbox/admitted') continue;
        seqs.set(event.message, event.seq);
        const [oldest] = seqs.keys();
        if (seqs.size > REMEMBERED && oldest !== undefined) seqs.delete(oldest);
      }
    },
    find: (message) => seqs.get(message) ?? findEarlier(message),
  };
}
