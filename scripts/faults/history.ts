/** What a session's log must look like whatever was done to its object: checks over the events alone. Pure. */
import type { LogEvent, LogEventOf, SurfaceEvent } from '../../durable/transcript/events.ts';
import { foldSurface } from '../../durable/transcript/surface-fold.ts';

export interface Finding {
  kind: 'lost' | 'doubled' | 'stuck' | 'broken';
  detail: string;
}

/** A message that was acknowledged: its id, and the seq that its receipt names. */
export interface Acknowledged {
  id: string;
  seq: number;
}

export type EventsOf = <T extends LogEvent['type']>(type: T) => LogEventOf<T>[];

export function eventsOf(events: readonly LogEvent[]): EventsOf {
  return <T extends LogEvent['type']>(type: T) =>
    events.filter((event): event is LogEventOf<T> => event.type === type);
}

/**
 * What was acknowledged is in the log, and what is in the log came to one end: said or discarded, or it still waits
 * (`waiting`: ids). Nothing is said that nobody sent.
 */
export function checkMessages(
  events: readonly LogEvent[],
  acknowledged: readonly Acknowledged[],
  waiting: readonly string[],
): Finding[] {
  const of = eventsOf(events);
  const admitted = of('inbox/admitted');
  const said = of('user/message').filter(({ message }) => message.source.kind === 'user');
  const terminal = [...said, ...of('inbox/discarded')].map(({ message }) => message.id as string);
  const findings: Finding[] = [];
  for (const { id, seq } of acknowledged) {
    const entries = admitted.filter(({ message }) => message === id);
    if (entries.length === 0) findings.push(lost(`${id} was acknowledged and is not in the log`));
    if (entries[0] && entries[0].seq !== seq) findings.push(broken(`${id}: its receipt names seq ${seq}`));
  }
  for (const id of new Set<string>(admitted.map(({ message }) => message))) {
    const times = [...terminal, ...waiting].filter((other) => other === id).length;
    if (times === 0) findings.push(lost(`${id} was admitted and is nowhere`));
    if (times > 1) findings.push(doubled(`${id} is there ${times} times`));
    const entries = admitted.filter(({ message }) => message === id).length;
    if (entries > 1) findings.push(doubled(`${id} was admitted ${entries} times`));
  }
  for (const id of terminal) {
    if (!admitted.some(({ message }) => message === id)) findings.push(broken(`${id} was never admitted`));
  }
  return [...findings, ...checkOrder(of)];
}

/** Prompts are taken in the order in which they were admitted, one a turn. */
function checkOrder(of: EventsOf): Finding[] {
  const prompts = of('inbox/admitted').filter(({ delivery }) => delivery === 'followup');
  const order = new Map<string, number>(prompts.map(({ message, seq }) => [message, seq]));
  const taken = of('user/message').flatMap(({ message, turn }) => {
    const seq = order.get(message.id);
    return seq === undefined ? [] : [{ seq, turn }];
  });
  return taken.flatMap(({ seq, turn }, i) => {
    const before = taken[i - 1];
    if (!before) return [];
    if (before.seq > seq) return [broken(`the prompt of seq ${seq} is taken after that of ${before.seq}`)];
    return before.turn === turn ? [broken(`turn ${turn} takes two prompts`)] : [];
  });
}

/** Turns are numbered from 1, and each one that started has one end. */
export function checkTurns(events: readonly LogEvent[]): Finding[] {
  const of = eventsOf(events);
  const starts = of('turn/start').map(({ turn }) => turn);
  const ends = of('turn/end').map(({ turn }) => turn);
  const findings = starts.flatMap((turn, i) =>
    turn === i + 1 ? [] : [broken(`turn ${turn} is number ${i + 1}`)],
  );
  for (const turn of new Set([...starts, ...ends])) {
    const times = ends.filter((other) => other === turn).length;
    if (times === 0) findings.push(stuck(`turn ${turn} never ended`));
    if (times > 1) findings.push(doubled(`turn ${turn} ended ${times} times`));
    if (!starts.includes(turn)) findings.push(broken(`turn ${turn} ended and never started`));
  }
  return findings;
}

/**
 * Attempts are numbered from 1 in each step, none comes before it is due, and the newest one has the answer. `asked`:
 * requests that models got.
 */
export function checkAttempts(events: readonly LogEvent[], asked: number): Finding[] {
  const of = eventsOf(events);
  const attempts = of('request/attempt');
  const findings: Finding[] = [];
  if (asked > attempts.length) {
    findings.push(doubled(`the model was asked ${asked} times, and ${attempts.length} were counted`));
  }
  const newest = new Map<string, number>();
  for (const { turn, step, attempt } of attempts) {
    const key = `${turn}.${step}`;
    if (attempt !== (newest.get(key) ?? 0) + 1) findings.push(broken(`attempt ${attempt} of step ${key}`));
    newest.set(key, attempt);
  }
  for (const { turn, step, attempt, at } of attempts) {
    const failed = of('request/failed').find(
      (event) => event.turn === turn && event.step === step && event.attempt === attempt - 1,
    );
    const due = failed?.retry_at ?? 0;
    if (at < due)
      findings.push(broken(`attempt ${attempt} of step ${turn}.${step} came ${due - at} ms early`));
  }
  for (const { turn, step, attempt } of of('assistant/message')) {
    if (newest.get(`${turn}.${step}`) !== attempt) findings.push(broken(`an answer to attempt ${attempt}`));
  }
  return findings;
}

/** What the log says of a call is true of what the tool did. `effects`: ids of calls that took effect, in order. */
export function checkCalls(
  events: readonly LogEvent[],
  effects: readonly string[],
  isIdempotent: (tool: string) => boolean,
): Finding[] {
  const of = eventsOf(events);
  return of('tool/result').flatMap(({ call, name, error }) => {
    const ran = effects.filter((effect) => effect === call).length;
    const started = of('tool/call').some((event) => event.call === call);
    const findings: Finding[] = [];
    if (ran > 1 && !isIdempotent(name)) findings.push(doubled(`${name} (${call}) took effect ${ran} times`));
    if (error === undefined && ran === 0) findings.push(broken(`${name} is said to be done, and was not`));
    if (error === 'TOOL_NOT_STARTED' && (ran > 0 || started)) {
      findings.push(broken(`${name} (${call}) is said not to have started`));
    }
    if (error === 'TOOL_OUTCOME_UNKNOWN' && !started)
      findings.push(broken(`the log has no start of ${call}`));
    return findings;
  });
}

/** Whenever a model was asked, and at each turn's end, every call has its one result, and no result is an orphan. */
export function checkTranscript(events: readonly LogEvent[]): Finding[] {
  const findings: Finding[] = [];
  let surface: readonly SurfaceEvent[] = [];
  for (const event of events) {
    surface = foldSurface(surface, event);
    if (event.type !== 'request/attempt' && event.type !== 'turn/end') continue;
    const problem = findTornCall(surface.map(toRole));
    if (problem) findings.push(broken(`at seq ${event.seq}: ${problem}`));
  }
  return findings;
}

export type Role = { role: 'user' } | { role: 'assistant'; calls: string[] } | { role: 'tool'; call: string };

function toRole(event: SurfaceEvent): Role {
  if (event.type === 'user/message') return { role: 'user' };
  if (event.type === 'tool/result') return { role: 'tool', call: event.call };
  return {
    role: 'assistant',
    calls: event.content.flatMap((block) => (block.type === 'tool-call' ? [block.id] : [])),
  };
}

/** Results follow their calls at once, one each; null where all is well. */
export function findTornCall(messages: readonly Role[]): string | null {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.call)) return `a result of ${message.call}, which is not open`;
      continue;
    }
    if (open.size > 0) return `no result of ${[...open].join(', ')}`;
    if (message.role === 'assistant') open = new Set(message.calls);
  }
  return open.size > 0 ? `no result of ${[...open].join(', ')}` : null;
}

export function lost(detail: string): Finding {
  return { kind: 'lost', detail };
}
export function doubled(detail: string): Finding {
  return { kind: 'doubled', detail };
}
export function stuck(detail: string): Finding {
  return { kind: 'stuck', detail };
}
export function broken(detail: string): Finding {
  return { kind: 'broken', detail };
}
