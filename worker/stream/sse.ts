/** Server-sent events as text (WHATWG HTML, section 9.2.6). */
import type { Frame } from '../../durable/rpc.ts';

export interface SseEvent {
  event: string;
  id?: number;
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

/** A logged event under its own type, with its seq as the id; a delta as `delta`, without one; `ready` is not sent. */
export function formatFrame(frame: Frame): string {
  switch (frame.frame) {
    case 'event':
      return formatSse({ event: frame.type, id: frame.seq, data: frame.data });
    case 'delta': {
      const { frame: _, ...delta } = frame;
      return formatSse({ event: 'delta', data: JSON.stringify(delta) });
    }
    case 'ready':
      return '';
  }
}
