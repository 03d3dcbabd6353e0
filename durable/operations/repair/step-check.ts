/** Whether a provider accepts each step's messages: every call has one result in its step, and every result a call. */
import type { LogEvent, Seq } from '../../transcript/index.ts';

export interface StepCheck {
  take: (event: LogEvent) => void;
  /** The newest step's messages are complete, or may still come. */
  end: (isComplete: boolean) => void;
}

interface Step {
  answer: Seq | null;
  /** Calls without a result. */
  open: Set<string>;
  results: Seq[];
  /** Results without a call. */
  orphans: Seq[];
}

const noStep = (): Step => ({ answer: null, open: new Set(), results: [], orphans: [] });

/** Puts the seqs of the messages that a provider would refuse into `broken`, a list for each step. */
export function createStepCheck(broken: Seq[][]): StepCheck {
  let step = noStep();
  let calls = new Set<string>();
  const end = (isComplete: boolean): void => {
    const { answer, open, results, orphans } = step;
    const isUnanswered = isComplete && open.size > 0;
    const seqs = isUnanswered && answer !== null ? [answer, ...results] : orphans;
    if (seqs.length > 0) broken.push(seqs);
    step = noStep();
    calls = new Set();
  };
  return {
    take(event) {
      switch (event.type) {
        case 'step/start':
        case 'turn/start':
        case 'turn/end':
          end(true);
          return;
        case 'assistant/message':
          if (step.answer !== null || step.results.length > 0) end(true);
          step.answer = event.seq;
          calls = new Set(event.content.flatMap((block) => (block.type === 'tool-call' ? [block.id] : [])));
          step.open = new Set(calls);
          return;
        case 'tool/result':
          step.results.push(event.seq);
          if (!calls.has(event.call)) step.orphans.push(event.seq);
          step.open.delete(event.call);
          return;
        default:
      }
    },
    end,
  };
}
