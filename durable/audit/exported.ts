/** An exported session: JSON Lines of events, and of the blobs that they name. */
import { z } from 'zod';
import { eventBody, type LogEvent, type Seq } from '../transcript/events.ts';

export interface ExportedSession {
  events: LogEvent[];
  /** By SHA-256. */
  blobs: ReadonlyMap<string, Uint8Array>;
}

const place = z.object({ seq: z.number().int().positive(), at: z.number() });
/** `{"blob": digest, "base64": …}`: a line between the events, before the first that needs it. */
const blobLine = z.strictObject({ blob: z.string(), base64: z.base64() });

/** Throws for a line that is neither, naming its number. */
export function parseExport(text: string): ExportedSession {
  const events: LogEvent[] = [];
  const blobs = new Map<string, Uint8Array>();
  for (const [i, line] of text.split('\n').entries()) {
    if (line === '') continue;
    try {
      const value: unknown = JSON.parse(line);
      const blob = blobLine.safeParse(value);
      if (blob.success) blobs.set(blob.data.blob, decodeBase64(blob.data.base64));
      else {
        const { seq, at } = place.parse(value);
        events.push({ ...eventBody.parse(value), seq: seq as Seq, at });
      }
    } catch (error) {
      throw new Error(`line ${i + 1} of the export cannot be read`, { cause: error });
    }
  }
  return { events, blobs };
}

function decodeBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
}
