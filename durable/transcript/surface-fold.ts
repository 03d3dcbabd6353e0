/** The surface as a fold over the log: what the ranges in the database are an index of. Pure. */
import type { EventBody, LogEvent, SurfaceEvent } from './events.ts';

export function isSurfaceEvent(event: LogEvent): event is SurfaceEvent {
  return event.type === 'user/message' || event.type === 'assistant/message' || event.type === 'tool/result';
}

/** Whether nothing from before the event is on the surface any more. */
export function isReset(event: EventBody): boolean {
  return event.type === 'command/done' && event.command === 'reset';
}

/** The surface after one more event. A replacement stands where the first message that it shadows stood. */
export function foldSurface(surface: readonly SurfaceEvent[], event: LogEvent): readonly SurfaceEvent[] {
  if (isReset(event)) return [];
  if (!isSurfaceEvent(event)) return surface;
  if (event.surface === 'append') return [...surface, event];
  const shadowed = new Set<number>(event.surface.replace);
  const place = surface.findIndex(({ seq }) => shadowed.has(seq));
  const at = place < 0 ? surface.length : place;
  const rest = (part: readonly SurfaceEvent[]) => part.filter(({ seq }) => !shadowed.has(seq));
  return [...rest(surface.slice(0, at)), event, ...rest(surface.slice(at))];
}
