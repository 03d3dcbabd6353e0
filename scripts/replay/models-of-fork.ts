/** A fork may have another model than its parent had: its first turns were the parent's. Pure. */
import type { LogEvent, LogEventOf } from '../../durable/transcript/index.ts';

/** By the seq before which the session's own model changes to it; 1 is the model that it begins with. */
export function planModels(
  events: readonly LogEvent[],
  { parent, model }: LogEventOf<'session/created'>,
): Map<number, string> {
  const models = new Map<number, string>();
  if (!parent || model === null) return models;
  let current = model;
  let route: string | null = null;
  let turnAt = 0;
  let isFirst = false;
  for (const event of events) {
    if (event.seq > parent.at_seq) break;
    if (event.type === 'turn/start') {
      // The first turn's is the one that the session begins with.
      turnAt = turnAt === 0 ? 1 : event.seq;
      isFirst = true;
    }
    if (event.type === 'request/header') route = `${event.header.provider}/${event.header.model}`;
    if (event.type !== 'request/attempt' || !isFirst || route === null) continue;
    isFirst = false;
    if (route !== current) models.set(turnAt, route);
    current = route;
  }
  const next = events.find(({ seq }) => seq > parent.at_seq);
  if (current !== model && next) models.set(next.seq, model);
  return models;
}
