/** An exported session: JSON Lines of events, and of the blobs that they name. */
import { z } from 'zod';
import { eventBody, type LogEvent, type Seq } from '../transcript/events.ts';

export interface ExportedSession {
  events: LogEvent[];
  /** By SHA-256. */
  blobs: ReadonlyMap<string, Uint8Array>;
}

/** One line of an export. `line` counts from 1. */
export type ExportLine =
  | { kind: 'event'; line: number; event: LogEvent }
  | { kind: 'blob'; line: number; digest: string; bytes: Uint8Array };

const place = z.object({ seq: z.number().int().positive(), at: z.number() });
/** `{"blob": digest, "base64": …}`: a line between the events, before the first that needs it. */
const blobLine = z.strictObject({ blob: z.string(), base64: z.base64() });

/** Throws for a line that is neither, naming its number. */
export function parseExport(text: string): ExportedSession {
  const events: LogEvent[] = [];
  const blobs = new Map<string, Uint8Array>();
  for (const entry of readExportLines(text)) {
    if (entry.kind === 'event') events.push(entry.event);
    else blobs.set(entry.digest, entry.bytes);
  }
  return { events, blobs };
}

/** The lines in order; empty ones are passed over. Throws for a line that is neither, naming its number. */
export function* readExportLines(text: string): Generator<ExportLine> {
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      yield parseLine(line, i + 1);
    } catch (error) {
      throw new Error(`line ${i + 1} of the export cannot be read`, { cause: error });
    }
  }
}

function parseLine(text: string, line: number): ExportLine {
  const value: unknown = JSON.parse(text);
  const blob = blobLine.safeParse(value);
  if (blob.success) {
    return { kind: 'blob', line, digest: blob.data.blob, bytes: decodeBase64(blob.data.base64) };
  }
  const { seq, at } = place.parse(value);
  return { kind: 'event', line, event: { ...eventBody.parse(value), seq: seq as Seq, at } };
}

function decodeBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
}
