import { accepts } from 'hono/accepts';
import type { AppContext } from './route.ts';

/** Whether the client asks for a stream, and not rather for JSON. Whoever takes anything gets JSON. */
export function prefersEventStream(c: AppContext): boolean {
  const supports = ['application/json', 'text/event-stream'];
  return accepts(c, { header: 'Accept', supports, default: 'application/json' }) === 'text/event-stream';
}
