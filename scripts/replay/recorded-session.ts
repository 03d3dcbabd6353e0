/** An exported session as something to replay: whole, unharmed, and at rest. */
import { type ExportLine, readExportLines } from '../../durable/audit/index.ts';
import { type Recording, recordModels } from '../../durable/models/index.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { type LogEvent, type LogEventOf, namesOf, type UserMessage } from '../../durable/transcript/index.ts';

export interface RecordedSession {
  events: readonly LogEvent[];
  created: LogEventOf<'session/created'>;
  /** By SHA-256. */
  blobs: ReadonlyMap<string, Uint8Array>;
  models: Recording;
  /** What admitted messages said, as far as the log tells: from their claims and discards. */
  messages: ReadonlyMap<string, UserMessage>;
}

/** The file is no recording: the message says why, and where there is one, in which line. */
export class NotARecording extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'NotARecording';
  }
}

/** Throws `NotARecording`. `text` is what `GET …/export?include=blobs` answers. */
export function readRecording(text: string): RecordedSession {
  const { events, blobs } = checkLines(text);
  const [created] = events;
  if (created?.type !== 'session/created') throw new NotARecording('the file is empty');
  const messages = new Map<string, UserMessage>();
  for (const event of events) {
    if (event.type === 'user/message' || event.type === 'inbox/discarded') {
      messages.set(event.message.id, event.message);
    }
  }
  return { events, created, blobs, models: recordModels(events), messages };
}

function checkLines(text: string): { events: LogEvent[]; blobs: Map<string, Uint8Array> } {
  const events: LogEvent[] = [];
  const blobs = new Map<string, Uint8Array>();
  let last = 0;
  let open: string | null = null;
  for (const entry of readLines(text)) {
    last = entry.line;
    if (entry.kind === 'blob') {
      if (sha256Hex(entry.bytes) !== entry.digest)
        fail(entry.line, `the bytes are not those of ${entry.digest}`);
      blobs.set(entry.digest, entry.bytes);
      continue;
    }
    checkEvent(entry.event, entry.line, events.length, blobs);
    open = follow(open, entry.event);
    events.push(entry.event);
  }
  if (open !== null) fail(last, `the log ends here, in the middle of ${open}`);
  return { events, blobs };
}

function* readLines(text: string): Generator<ExportLine> {
  try {
    yield* readExportLines(text);
  } catch (error) {
    const [, line = '1'] = /line (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
    const { cause } = error instanceof Error ? error : new Error();
    const what =
      cause instanceof SyntaxError ? 'is not JSON, or is cut' : 'is neither an event of a log nor a blob';
    throw new NotARecording(`line ${line}: this ${what}`, error);
  }
}

function checkEvent(
  event: LogEvent,
  line: number,
  before: number,
  blobs: ReadonlyMap<string, Uint8Array>,
): void {
  if (event.seq !== before + 1) {
    fail(
      line,
      before === 0 ? `the log begins with event ${event.seq}` : `event ${event.seq} follows event ${before}`,
    );
  }
  if ((event.seq === 1) !== (event.type === 'session/created'))
    fail(line, `a log does not have ${event.type} here`);
  const missing = namesOf(event).find((digest) => !blobs.has(digest));
  if (missing !== undefined) {
    fail(
      line,
      `event ${event.seq} names the bytes ${missing}, which are not here: export with ?include=blobs`,
    );
  }
}

/** What is open behind the event: a turn, a command, or nothing. */
function follow(open: string | null, event: LogEvent): string | null {
  switch (event.type) {
    case 'turn/start':
      return `turn ${event.turn}`;
    case 'command/run':
      return open ?? `the command ${event.command}`;
    case 'turn/end':
      return null;
    case 'command/done':
      return open?.startsWith('turn') ? open : null;
    default:
      return open;
  }
}

function fail(line: number, problem: string): never {
  throw new NotARecording(`line ${line}: ${problem}`);
}
