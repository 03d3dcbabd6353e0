import type { Log } from './log.ts';

/** Events read at once: bounds the memory of an export of any length. */
const PAGE = 500;

/** The log as JSON Lines, up to where it ended when the reading began. */
export function exportLog(log: Log): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const end = log.lastSeq();
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const { events } = log.page({ after: at, limit: Math.min(PAGE, end - at), types: null });
      at += events.length;
      if (events.length > 0) controller.enqueue(encoder.encode(`${events.join('\n')}\n`));
      if (events.length === 0 || at >= end) controller.close();
    },
  });
}
