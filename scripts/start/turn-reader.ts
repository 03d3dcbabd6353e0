/** From a turn's stream to the text that a terminal shows. Pure. */
import { z } from 'zod';
import { assertNever, eventBody, type TurnEndReason } from '../../durable/transcript/events.ts';
import type { ServerEvent } from './read-sse.ts';

export type TurnEnd = { kind: 'completed' } | { kind: 'failed'; message: string };

export interface TurnReader {
  /** The text to show now; `end` with the last event of the turn. */
  read: (event: ServerEvent) => { text: string; end: TurnEnd | null };
}

const delta = z.object({
  step: z.number(),
  attempt: z.number(),
  offset: z.number(),
  kind: z.enum(['text', 'reasoning']),
  text: z.string(),
});

/**
 * Shows what the model says to the person: no reasoning, a blank line between steps, a line break at the end. A text
 * that came in part as deltas is completed from the logged message. Where a request was asked again, the second
 * answer begins on a line of its own.
 */
export function createTurnReader(): TurnReader {
  /** Of the current step's current attempt. */
  let shown = '';
  let place = '';
  let isBlank = true;

  const show = (at: string, whole: string): string => {
    let gap = '';
    if (at !== place) {
      if (!isBlank && whole !== '') gap = '\n\n';
      place = at;
      shown = '';
    }
    const text = whole.slice(shown.length);
    shown = whole;
    if (text !== '') isBlank = false;
    return gap + text;
  };
  return {
    read({ event, data }) {
      const json: unknown = JSON.parse(data);
      if (event === 'delta') {
        const { step, attempt, offset, kind, text } = delta.parse(json);
        if (kind !== 'text') return { text: '', end: null };
        const at = `${step}.${attempt}`;
        const before = at === place ? shown : '';
        // A gap in the deltas is filled by the logged message.
        if (offset > before.length) return { text: '', end: null };
        return { text: show(at, before.slice(0, offset) + text), end: null };
      }
      const parsed = eventBody.safeParse(json);
      if (parsed.data?.type === 'assistant/message') {
        const { step, attempt, content } = parsed.data;
        const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        return { text: show(`${step}.${attempt}`, text), end: null };
      }
      if (parsed.data?.type === 'inbox/discarded') {
        return { text: '', end: { kind: 'failed', message: `discarded: ${parsed.data.cause}` } };
      }
      if (parsed.data?.type !== 'turn/end') return { text: '', end: null };
      return { text: isBlank ? '' : '\n', end: describeEnd(parsed.data.reason) };
    },
  };
}

function describeEnd(reason: TurnEndReason): TurnEnd {
  switch (reason.kind) {
    case 'completed':
      return { kind: 'completed' };
    case 'error':
      return { kind: 'failed', message: `${reason.error.code}: ${reason.error.message}` };
    case 'blocked':
      return { kind: 'failed', message: `blocked: ${reason.by}: ${reason.message}` };
    case 'interrupted':
      return { kind: 'failed', message: `interrupted: ${reason.message}` };
    case 'aborted':
      return { kind: 'failed', message: `aborted: by ${reason.by}` };
    case 'budget':
      return { kind: 'failed', message: `budget: ${reason.budget} is used up (${reason.limit})` };
    case 'max-tokens':
      return { kind: 'failed', message: 'max-tokens: the answer was cut at the output limit' };
    default:
      return assertNever(reason);
  }
}
