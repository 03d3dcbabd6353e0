/** Each request that leaves a session, against the committed log at that moment. */
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { checkPrompt } from './check-prompt.ts';
import type { Complain } from './problems.ts';
import type { Disk } from './storage.ts';

export interface RequestRecord {
  /** Turns whose cancel was acknowledged: nobody is asked for them any more. */
  cancelled: Set<number>;
  /** `turn.step.attempt` of each request so far. */
  asked: Set<string>;
  last: { messages: string[]; tools: string; seq: number } | null;
}

export function createRequestRecord(): RequestRecord {
  return { cancelled: new Set(), asked: new Set(), last: null };
}

/** Called when a request leaves the object: what it wrote before is committed. */
export function checkRequest(
  host: { name: string; disk: Disk },
  record: RequestRecord,
  options: LanguageModelV4CallOptions,
  now: number,
  complain: Complain,
): void {
  const wrong = (text: string): void => complain('wrong', `${host.name}: a request: ${text}`);
  for (const problem of checkPrompt(options.prompt)) wrong(problem);
  const [row] = host.disk.read(
    "SELECT seq, data FROM events WHERE type = 'request/attempt' ORDER BY seq DESC LIMIT 1",
  );
  if (!row) {
    wrong('it was not counted before');
    return;
  }
  const seq = Number(row['seq']);
  const attempt = JSON.parse(String(row['data']));
  const key = `${attempt.turn}.${attempt.step}.${attempt.attempt}`;
  if (record.asked.has(key)) wrong(`it was not counted before: ${key} was made already`);
  record.asked.add(key);
  if (record.cancelled.has(attempt.turn))
    wrong(`turn ${attempt.turn} was cancelled, and that was acknowledged`);
  const [closed] = host.disk.read(
    "SELECT type FROM events WHERE seq > ? AND type IN ('assistant/message', 'request/failed', 'step/end')",
    seq,
  );
  if (closed) wrong(`${key} is answered or over already`);
  const [failed] = host.disk.read(
    "SELECT data FROM events WHERE seq < ? AND type = 'request/failed' ORDER BY seq DESC LIMIT 1",
    seq,
  );
  const failure = failed ? JSON.parse(String(failed['data'])) : null;
  if (failure?.turn === attempt.turn && failure.step === attempt.step && now < failure.retry_at) {
    wrong(`${Math.round(failure.retry_at - now)} ms before it is due`);
  }
  checkPrefix(host.disk, record, options, seq, wrong);
}

/** A request begins with the bytes of the one before, unless the log says what changed. */
function checkPrefix(
  disk: Disk,
  record: RequestRecord,
  options: LanguageModelV4CallOptions,
  seq: number,
  wrong: (text: string) => void,
): void {
  const messages = options.prompt.map((message) => JSON.stringify(message));
  const tools = JSON.stringify(options.tools ?? []);
  const { last } = record;
  record.last = { messages, tools, seq };
  if (!last) return;
  const isPrefix = last.tools === tools && last.messages.every((message, i) => messages[i] === message);
  if (isPrefix) return;
  const logged = disk.read(
    "SELECT 1 FROM events WHERE seq > ? AND seq <= ? AND type IN ('request/header', 'command/done')",
    last.seq,
    seq,
  );
  if (logged.length > 0) return;
  const place = last.messages.findIndex((message, i) => messages[i] !== message);
  wrong(`it does not begin as the one before, from message ${place} on`);
}
