/** The log as JSON Lines, with the blobs that its events name where they are wanted. */

import { Buffer } from 'node:buffer';
import { assertNever, type ContentBlock, type EventBody, eventBody } from './events.ts';
import type { Log } from './log.ts';

/** Events read at once: bounds the memory of an export of any length. */
const PAGE = 200;

/**
 * Up to where the log ended when the reading began. With `readBlob`, a line `{"blob": digest, "base64": …}` comes
 * before the first event that names it, so that every request can be rebuilt from the export alone.
 */
export function exportLog(
  log: Log,
  readBlob: ((digest: string) => Uint8Array) | null,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const end = log.lastSeq();
  const written = new Set<string>();
  let at = 0;

  const withBlobs = (json: string): string[] => {
    if (!readBlob) return [json];
    const fresh = namesOf(eventBody.parse(JSON.parse(json))).filter((digest) => !written.has(digest));
    for (const digest of fresh) written.add(digest);
    return [...fresh.map((digest) => toBlobLine(digest, readBlob(digest))), json];
  };
  return new ReadableStream({
    pull(controller) {
      const { events } = log.page({ after: at, limit: Math.min(PAGE, end - at), types: null });
      at += events.length;
      const lines = events.flatMap(withBlobs);
      if (lines.length > 0) controller.enqueue(encoder.encode(`${lines.join('\n')}\n`));
      if (events.length === 0 || at >= end) controller.close();
    },
  });
}

function toBlobLine(blob: string, bytes: Uint8Array): string {
  return JSON.stringify({ blob, base64: Buffer.from(bytes).toString('base64') });
}

/** The blobs that an event needs to be understood. */
export function namesOf(event: EventBody): string[] {
  switch (event.type) {
    case 'request/header':
      return [event.header.system.digest, event.header.tools.digest];
    case 'user/message':
    case 'inbox/discarded':
      return blobsIn(event.message.content);
    case 'tool/result':
      return blobsIn(event.content);
    case 'session/created':
    case 'inbox/admitted':
    case 'turn/start':
    case 'step/start':
    case 'request/attempt':
    case 'request/failed':
    case 'approval/requested':
    case 'approval/resolved':
    case 'todo/write':
    case 'command/run':
    case 'command/done':
    case 'assistant/message':
    case 'tool/call':
    case 'step/end':
    case 'turn/end':
      return [];
    default:
      return assertNever(event);
  }
}

function blobsIn(content: readonly ContentBlock[]): string[] {
  return content.flatMap((block) => (block.type === 'text' ? [] : [block.blob]));
}
