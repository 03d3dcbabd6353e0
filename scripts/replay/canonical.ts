/**
 * Logs as sequences that two runs of a session must have in common: without times, the ids of injections, the seqs, and
 * all that a restart or another day alone changes. Pure.
 */
import type { LogEvent, UserMessage } from '../../durable/transcript/index.ts';
import { withoutLost } from './log-places.ts';
import { showReason } from './outline.ts';
import { compareText, type TextChange } from './text-change.ts';

/** The first event of the two logs, behind `from`, that is not the same; null where there is none. */
export function findFirstChange(
  recorded: readonly LogEvent[],
  replayed: readonly LogEvent[],
  from: number,
): { what: string; text: TextChange | null } | null {
  const [was, is] = [toLines(recorded, from), toLines(replayed, from)];
  const at = was.findIndex(({ line }, i) => line !== is[i]?.line);
  const index = at < 0 ? was.length : at;
  const [a, b] = [was[index], is[index]];
  if (!a && !b) return null;
  const what = `the log goes another way at event ${a?.seq ?? b?.seq}`;
  return { what, text: compareText(a?.line ?? 'the end', b?.line ?? 'the end') };
}

function toLines(events: readonly LogEvent[], from: number): { seq: number; line: string }[] {
  return withoutLost(events).flatMap((event) => {
    if (event.seq <= from) return [];
    const line = describeEvent(event);
    return line === null ? [] : [{ seq: event.seq, line }];
  });
}

/** Null for what may differ: a repair mends what only that run had to mend; headers are compared by what they tell. */
function describeEvent(event: LogEvent): string | null {
  const { type } = event;
  switch (event.type) {
    case 'session/created':
    case 'request/header':
      return null;
    case 'command/run':
    case 'command/done':
      return event.command === 'repair' ? null : `${type} ${event.command}`;
    case 'inbox/admitted':
      return `${type} ${event.message} ${event.delivery}`;
    case 'inbox/discarded':
      return `${type} ${event.message.id} ${event.cause}`;
    case 'user/message':
      return `${type} ${event.turn}.${event.step ?? '-'} ${describeMessage(event.message)}`;
    case 'step/start':
      return `${type} ${event.turn}.${event.step} ${event.claimed.join(' ')}`;
    case 'request/attempt':
      return `${type} ${event.turn}.${event.step}.${event.attempt} ${event.digest}`;
    case 'request/failed':
      return `${type} ${event.turn}.${event.step}.${event.attempt} ${event.error.code} ${event.retry_at !== null}`;
    case 'assistant/message': {
      const { turn, step, content, finish, usage, model, interrupted = false } = event;
      return `${type} ${turn}.${step} ${JSON.stringify([content, finish, usage, model, interrupted])}`;
    }
    case 'tool/call':
      return `${type} ${event.call} ${event.name} ${JSON.stringify(event.input)}`;
    case 'tool/result':
      return `${type} ${event.call} ${event.error ?? ''} ${JSON.stringify(event.content)}`;
    case 'approval/requested':
      return `${type} ${event.call} ${event.kind} ${JSON.stringify([event.prompt, event.options ?? []])}`;
    case 'approval/resolved':
      return `${type} ${event.turn} ${event.outcome} ${JSON.stringify(event.text ?? '')}`;
    case 'todo/write':
      return `${type} ${event.call} ${JSON.stringify(event.items)}`;
    case 'turn/end':
      return `${type} ${event.turn} ${event.steps} ${showReason(event.reason)}`;
    case 'turn/start':
      return `${type} ${event.turn}`;
    case 'step/end':
      return `${type} ${event.turn}.${event.step}`;
    default:
      return event satisfies never;
  }
}

function describeMessage({ id, source, content }: UserMessage): string {
  const who = source.kind === 'user' || source.kind === 'bot' || source.kind === 'webhook' ? id : source.kind;
  return `${who} ${JSON.stringify(content)}`;
}
