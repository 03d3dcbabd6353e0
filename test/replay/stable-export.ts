/**
 * An export that is the same bytes whenever its session is made anew: ids of messages by their order, times by seq, and
 * nothing of how long things took. No request's digest covers any of that, so the export stays true.
 */
import { parseExport } from '../../durable/audit/index.ts';
import type { LogEvent } from '../../durable/transcript/index.ts';

const START = 1_700_000_000_000;
const STEP_MS = 10;

export function stabilise(text: string): string {
  const { events } = parseExport(text);
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const known = names.get(id) ?? `msg_${names.size + 1}`;
    names.set(id, known);
    return known;
  };
  for (const event of events) for (const id of idsOf(event)) nameOf(id);
  const lines = text.split('\n').map((line) => {
    if (line === '' || line.startsWith('{"blob"')) return line;
    const event: LogEvent = settleTimes(JSON.parse(line));
    return [...names].reduce(
      (rest, [id, name]) => rest.replaceAll(`"${id}"`, `"${name}"`),
      JSON.stringify(event).replaceAll(/key:key_tenant-[\w-]+/g, 'key:k'),
    );
  });
  return lines.join('\n');
}

function idsOf(event: LogEvent): string[] {
  if (event.type === 'inbox/admitted') return [event.message];
  return event.type === 'user/message' ? [event.message.id] : [];
}

function settleTimes(event: LogEvent): LogEvent {
  const at = START + event.seq * STEP_MS;
  switch (event.type) {
    case 'request/failed':
      return { ...event, at, retry_at: event.retry_at === null ? null : at + STEP_MS };
    case 'turn/end': {
      const { receipt } = event;
      if (!receipt) return { ...event, at };
      const times = { rows_written: 0, ms: 0, model_ms: 0, tools_ms: 0, harness_ms: 0 };
      return { ...event, at, receipt: { ...receipt, ...times } };
    }
    case 'session/created':
      return { ...event, at, ...(event.parent ? { parent: { ...event.parent, session: 'parent' } } : {}) };
    case 'inbox/discarded':
      return {
        ...event,
        at,
        cause: event.cause.replace(/ses_[\w-]+/, 'parent').replace(/key:[\w-]+/, 'key:k'),
      };
    case 'command/run':
      return { ...event, at, by: 'key:k' };
    default:
      return { ...event, at };
  }
}
