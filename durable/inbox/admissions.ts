/**
 * Where in the log a message was admitted: what a reply stream begins with. It is asked for on the way to the first
 * byte of an answer, so the common case, a message that came just now, costs a look into memory, and any other one
 * into an index.
 */
import type { Committed, Log } from '../transcript/index.ts';

/** Admissions remembered; a stream is opened beside its admission, not hundreds of messages later. */
const REMEMBERED = 256;

export interface Admissions {
  note: (committed: readonly Committed[]) => void;
  /** The seq of the message's `inbox/admitted`; null where it is not known (yet). */
  find: (message: string) => number | null;
}

export function createAdmissions(log: Pick<Log, 'fateOf'>): Admissions {
  const seqs = new Map<string, number>();
  return {
    note(committed) {
      for (const { event } of committed) {
        if (event.type !== 'inbox/admitted') continue;
        seqs.set(event.message, event.seq);
        const [oldest] = seqs.keys();
        if (seqs.size > REMEMBERED && oldest !== undefined) seqs.delete(oldest);
      }
    },
    find: (message) => seqs.get(message) ?? log.fateOf(message)?.admitted ?? null,
  };
}
