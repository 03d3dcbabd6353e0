/** The inbox as DESIGN section 4 describes it: two queues, a claim that never goes back, one end for each message. */
import type { Delivery } from '../../durable/transcript/events.ts';
import type { Complain } from './problems.ts';

export type Fate = 'waiting' | 'claimed' | 'said' | 'discarded';

export interface InboxModel {
  admit: (id: string, delivery: Delivery, seq: number) => void;
  discard: (id: string) => void;
  /** A step's claim. `boundarySeq` is where the turn began, or the step before ended: what was there then is taken. */
  claim: (ids: readonly string[], isFirstStep: boolean, boundarySeq: number) => void;
  /** A message that no step took, and that was said all the same. */
  say: (id: string) => void;
  knows: (id: string) => boolean;
  /** What a further step would take and was there at `seq`. */
  dueAt: (seq: number) => string[];
  waiting: () => string[];
  fates: ReadonlyMap<string, Fate>;
}

interface Waiting {
  id: string;
  isStep: boolean;
  seq: number;
}

export function createInboxModel(complain: Complain): InboxModel {
  const fates = new Map<string, Fate>();
  let queue: Waiting[] = [];
  const settle = (id: string, fate: Fate): void => {
    const before = fates.get(id);
    if (before === undefined) complain('wrong', `${id} is ${fate} and was never admitted`);
    else if (before !== 'waiting') complain('doubled', `${id} is ${fate} after it was ${before}`);
    fates.set(id, fate);
    queue = queue.filter((item) => item.id !== id);
  };
  const dueAt: InboxModel['dueAt'] = (at) =>
    queue.filter(({ isStep, seq }) => isStep && seq < at).map(({ id }) => id);
  return {
    fates,
    dueAt,
    admit(id, delivery, seq) {
      if (fates.has(id)) complain('doubled', `${id} is admitted twice`);
      fates.set(id, 'waiting');
      queue.push({ id, isStep: delivery !== 'followup', seq });
    },
    discard: (id) => settle(id, 'discarded'),
    say: (id) => settle(id, 'said'),
    knows: (id) => fates.has(id),
    waiting: () => queue.map(({ id }) => id),
    claim(ids, isFirstStep, boundarySeq) {
      const due = dueAt(boundarySeq);
      const [head] = queue.filter(({ isStep }) => !isStep);
      if (isFirstStep && head && head.seq < boundarySeq) due.push(head.id);
      const passedOver = due.filter((id) => !ids.includes(id));
      if (passedOver.length > 0) complain('wrong', `a step passes over ${passedOver.join()}`);
      const ordered = queue.filter(({ id }) => ids.includes(id)).map(({ id }) => id);
      if (ordered.join() !== ids.join())
        complain('wrong', `claimed as ${ids.join()}, admitted as ${ordered.join()}`);
      const turnTaken = queue.filter(({ id, isStep }) => !isStep && ids.includes(id));
      if (turnTaken.length > (isFirstStep ? 1 : 0))
        complain('wrong', `a step takes ${turnTaken.length} prompts`);
      if (turnTaken.some(({ id }) => id !== head?.id)) complain('wrong', 'a prompt overtakes another one');
      const stepQueue = queue.filter(({ isStep }) => isStep).map(({ id }) => id);
      const stepTaken = ids.filter((id) => stepQueue.includes(id));
      if (stepQueue.slice(0, stepTaken.length).join() !== stepTaken.join()) {
        complain('wrong', 'a steer overtakes another one');
      }
      for (const id of ids) settle(id, 'claimed');
    },
  };
}
