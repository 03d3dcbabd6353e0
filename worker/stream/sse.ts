/** Server-sent events as text (WHATWG HTML, section 9.2.6). */
import type { Frame } from '../../durable/rpc.ts';
import { assertNever } from '../../durable/transcript/events.ts';

export interface SseEvent {
  event: string;
  id?: number | string;
  /** JSON, which has no line breaks of its own. */
  data: string;
}

/** A comment that keeps the connection open through whatever is between. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';
/** What a client waits before it comes back, in milliseconds. */
export const SSE_RETRY = 'retry: 1000\n\n';

export function formatSse({ event, id, data }: SseEvent): string {
  const head = id === undefined ? `event: ${event}\n` : `id: ${id}\nevent: ${event}\n`;
  return `${head}data: ${data.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/**
 * A logged event under its own type; `delta`, `restart` and `dropped` under their names. The id is the frame's cursor,
 * which begins with the seq of the newest event. What only concerns a socket is not sent.
 */
export function formatFrame(frame: Frame): string {
  switch (frame.frame) {
    case 'event':
      return formatSse({ event: frame.type, id: frame.cursor ?? frame.seq, data: frame.data });
    case 'delta':
    case 'restart': {
      const { frame: event, cursor, ...data } = frame;
      return formatSse({ event, ...(cursor !== undefined && { id: cursor }), data: JSON.stringify(data) });
    }
    case 'dropped': {
      const { frame: event, ...data } = frame;
      return formatSse({ event, data: JSON.stringify(data) });
    }
    case 'ready':
    case 'probe':
    case 'reply':
    case 'pong':
      return '';
    default:
      return assertNever(frame);
  }
}
