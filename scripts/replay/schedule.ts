/**
 * What came to a session from outside, and at which place of its log: messages, discards, cancels, commands, and the
 * ends that a restart or a fork put to a turn. A replay offers each where the recording has it. Pure.
 */
import type {
  EventBody,
  LogEvent,
  LogEventOf,
  TurnEndReason,
  UserMessage,
} from '../../durable/transcript/index.ts';
import { BEGINNING, nameAgain, placeOf, withoutLost } from './log-places.ts';
import { planModels } from './models-of-fork.ts';
import type { RecordedSession } from './recorded-session.ts';

/** When behind its place an input comes. */
export type Moment =
  /** At once. */
  | 'place'
  /** When the next turn begins, and before it has. */
  | 'starting'
  /** When the next step's claim is taken, and its prompt is not yet ready. */
  | 'preparing'
  /** When the turn ends, and before it has. */
  | 'ending'
  /** When all that came of a request was shown, or a call that is stopped runs. */
  | 'working';

interface Coming {
  /** The seq that it has in the recording. */
  seq: number;
  at: number;
  /** The place that it came behind. */
  after: string;
  moment: Moment;
}

/** How a turn was ended from outside. */
type End =
  | { kind: 'cancel'; turn: number; by: string }
  /** It did not end by itself: what was logged of its end. */
  | { kind: 'close'; turn: number; events: EventBody[] };

export type Input = Coming &
  (
    | End
    | { kind: 'admit'; event: LogEventOf<'inbox/admitted'>; message: UserMessage }
    /** Events of the outside: discards and commands. */
    | { kind: 'log'; events: EventBody[] }
    /** From here the session's own model is another one: the place where a fork took over. */
    | { kind: 'model'; model: string }
    /** The object began anew here: a request was made again, or calls that nobody ran any more got results that say so. */
    | { kind: 'restart' }
  );

export interface Schedule {
  inputs: Input[];
  /** By place: when what follows it in the recording happened. */
  times: ReadonlyMap<string, number>;
}

const SAID_NOTHING = '(The recording does not say what this message said.)';

export function planReplay(session: RecordedSession): Schedule {
  const events = withoutLost(session.events);
  const ends = new Map(splitTurns(events).map((turn) => [turn.number, planEnd(turn)]));
  const models = planModels(events, session.created);
  const lost = listLost(session.events, events);
  const inputs: Input[] = [];
  const times = new Map<string, number>();
  let after = BEGINNING;
  for (const [i, event] of events.entries()) {
    const coming = { seq: event.seq, at: event.at, after, moment: 'place' as const };
    const made = lost.filter(({ seq }) => seq < event.seq && seq > (events[i - 1]?.seq ?? 0));
    for (const [n, { seq, at }] of made.entries()) {
      const before = made[n - 1];
      inputs.push({ ...coming, seq, at, after: before ? nameAgain(before) : after, kind: 'restart' });
    }
    const model = models.get(event.seq);
    if (model !== undefined) inputs.push({ ...coming, kind: 'model', model });
    const plan = 'turn' in event ? ends.get(event.turn) : undefined;
    if (plan?.input && plan.from === event.seq)
      inputs.push({ ...coming, moment: plan.moment, ...plan.input });
    if (isRecovery(event, events[i - 1], ends)) inputs.push({ ...coming, kind: 'restart' });
    inputs.push(...toInput(events, i, coming, session));
    const place = placeOf(event);
    if (place === null) continue;
    after = place;
    times.set(place, events[i + 1]?.at ?? event.at);
  }
  return { inputs, times };
}

/** Requests that were made again because a restart had cut off the one before. */
function listLost(all: readonly LogEvent[], kept: readonly LogEvent[]): LogEventOf<'request/attempt'>[] {
  const seqs = new Set<number>(kept.map(({ seq }) => seq));
  return all.flatMap((event) => (event.type === 'request/attempt' && !seqs.has(event.seq) ? [event] : []));
}

/** The first of the results that a takeover gave to calls of the life before. */
function isRecovery(
  event: LogEvent,
  before: LogEvent | undefined,
  ends: ReadonlyMap<number, TurnPlan>,
): boolean {
  if (!isOutcomeOfRestart(event) || (ends.get(event.turn)?.from ?? 0) <= event.seq) return false;
  return !before || !isOutcomeOfRestart(before);
}

function isOutcomeOfRestart(event: LogEvent): event is LogEventOf<'tool/result'> {
  return event.type === 'tool/result' && event.error?.startsWith('TOOL_') === true;
}

function toInput(
  events: readonly LogEvent[],
  index: number,
  coming: Omit<Coming, 'moment'>,
  session: RecordedSession,
): Input[] {
  const event = events[index];
  switch (event?.type) {
    case 'inbox/admitted': {
      const { message: id, source } = event;
      const content: UserMessage['content'] = [{ type: 'text', text: SAID_NOTHING }];
      const message = session.messages.get(id) ?? { id, role: 'user', source, content };
      return [{ ...coming, moment: findAdmission(events, index, event), kind: 'admit', event, message }];
    }
    case 'inbox/discarded': {
      // A lane's rejection is the loop's own.
      if (event.cause.startsWith('blocked by ')) return [];
      return [{ ...coming, moment: findDiscard(events, index, event), kind: 'log', events: [toBody(event)] }];
    }
    case 'command/run':
    case 'command/done':
      return [{ ...coming, moment: 'place', kind: 'log', events: [toBody(event)] }];
    default:
      return [];
  }
}

/**
 * Between the decision that a turn begins and its beginning, a discard may leave it nothing to take; before a step, it
 * may be a part of the cancel that follows, and takes out what the step is being prepared with; no other discard does.
 */
function findDiscard(
  events: readonly LogEvent[],
  index: number,
  event: LogEventOf<'inbox/discarded'>,
): Moment {
  const next = events.slice(index + 1).find(({ type }) => type !== 'inbox/discarded');
  if (next?.type === 'turn/start') return 'starting';
  const isOfCancel = event.cause.startsWith('cleared by ');
  const end = isOfCancel ? findEnd(events, index) : null;
  if (!end) return 'place';
  switch (events.slice(0, index).findLast((before) => placeOf(before) !== null)?.type) {
    case 'turn/start':
      return isLeftEmpty(end.reason) ? 'place' : 'preparing';
    case 'step/end':
      return end.reason.kind === 'blocked' || end.reason.kind === 'error' ? 'preparing' : 'place';
    default:
      return 'place';
  }
}

/** The end of the turn, where no other step of it comes before that. */
function findEnd(events: readonly LogEvent[], index: number): LogEventOf<'turn/end'> | null {
  const next = events
    .slice(index + 1)
    .find((event) => event.type === 'step/start' || event.type === 'turn/end' || event.type === 'turn/start');
  return next?.type === 'turn/end' ? next : null;
}

/** A message that could have been in the claim that comes next, and is not, came after that was taken. */
function findAdmission(
  events: readonly LogEvent[],
  index: number,
  { message, delivery }: LogEventOf<'inbox/admitted'>,
): Moment {
  const before = events.slice(0, index).findLast((event) => placeOf(event) !== null);
  const isFirst = before?.type === 'turn/start';
  // Only a turn's first claim takes from both queues.
  if (!isFirst && (before?.type !== 'step/end' || delivery === 'followup')) return 'place';
  const rest = events.slice(index + 1);
  const next = rest.find((event) => event.type === 'step/start' || event.type === 'turn/end');
  if (next?.type === 'step/start') return next.claimed.includes(message) ? 'place' : 'preparing';
  if (isFirst && next?.type === 'turn/end' && isLeftEmpty(next.reason)) return 'ending';
  // Between the last look at the queue and the turn's end: what ends by itself would have gone on with it.
  const taken = rest
    .slice(0, next ? rest.indexOf(next) : 0)
    .flatMap((event) =>
      event.type === 'user/message' || event.type === 'inbox/discarded' ? [event.message.id] : [],
    );
  if (taken.includes(message)) return 'place';
  if (taken.length > 0) return 'preparing';
  switch (next?.type === 'turn/end' ? next.reason.kind : null) {
    case 'completed':
    case 'max-tokens':
      return 'ending';
    case 'error':
      return 'preparing';
    case 'aborted':
      return isFirst ? 'preparing' : 'place';
    default:
      return 'place';
  }
}

interface RecordedTurn {
  number: number;
  events: LogEvent[];
  end: LogEventOf<'turn/end'>;
  /** A lane refused its claim. */
  isBlocked: boolean;
}

interface TurnPlan {
  /** The seq before which the input stands. */
  from: number;
  moment: Moment;
  input: End | null;
}

function splitTurns(events: readonly LogEvent[]): RecordedTurn[] {
  const turns: RecordedTurn[] = [];
  let open: LogEvent[] = [];
  let isBlocked = false;
  for (const event of events) {
    if (event.type === 'turn/start') {
      open = [];
      isBlocked = false;
    }
    if (event.type === 'inbox/discarded') isBlocked ||= event.cause.startsWith('blocked by ');
    if ('turn' in event) open.push(event);
    if (event.type === 'turn/end') turns.push({ number: event.turn, events: open, end: event, isBlocked });
  }
  return turns;
}

function planEnd({ number, events, end, isBlocked }: RecordedTurn): TurnPlan {
  const tail = findTail(events);
  const from = tail[0]?.seq ?? end.seq;
  const close: TurnPlan = {
    from,
    moment: 'place',
    input: { kind: 'close', turn: number, events: tail.map(toBody) },
  };
  switch (end.reason.kind) {
    case 'aborted': {
      if (tail.some(isOfRestart)) return close;
      const input: End = { kind: 'cancel', turn: number, by: end.reason.by };
      // The claim was refused, or the model had failed, before the cancel came: it only changed what the turn's end says.
      const isOver = isBlocked || events.some(isLastFailure);
      if (isOver) return { from, moment: 'ending', input };
      const stopped = events.find(isStopped);
      if (stopped) return { from: stopped.seq, moment: 'working', input };
      return { from, moment: findMoment(events, tail), input };
    }
    case 'interrupted':
      return isLeftEmpty(end.reason) ? { from, moment: 'place', input: null } : close;
    default:
      return { from, moment: 'place', input: null };
  }
}

/** The end of the turn as one commit wrote it: what it says of a claim, of calls without results, of the open step. */
function findTail(events: readonly LogEvent[]): LogEvent[] {
  let first = events.length - 1;
  while (first > 0) {
    const [before, event] = [events[first - 1], events[first]];
    if (!before || !event || before.seq !== event.seq - 1 || !isOfEnd(before)) break;
    first--;
  }
  return events.slice(first);
}

function isOfEnd(event: LogEvent): boolean {
  switch (event.type) {
    case 'step/end':
      return true;
    case 'user/message':
      return event.step === undefined;
    case 'tool/result':
      return event.error?.startsWith('TOOL_') === true;
    default:
      return false;
  }
}

/** Cancelled in one life and ended by the next: there was no moment at which a running turn was stopped. */
function isOfRestart(event: LogEvent): boolean {
  if (event.type !== 'tool/result') return false;
  return event.error === 'TOOL_OUTCOME_UNKNOWN' || showText(event).includes('the service restarted');
}

function showText({ content }: LogEventOf<'tool/result'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** What a cancel itself made: the part of an answer that had come, and the result of a call that ran. */
function isStopped(event: LogEvent): boolean {
  if (event.type === 'assistant/message') return event.interrupted === true;
  return event.type === 'tool/result' && event.error === 'aborted';
}

function isLastFailure(event: LogEvent): boolean {
  return event.type === 'request/failed' && event.retry_at === null;
}

function findMoment(events: readonly LogEvent[], tail: readonly LogEvent[]): Moment {
  const before = events.at(-tail.length - 1);
  if (before?.type === 'turn/start' || tail.some((event) => event.type === 'user/message'))
    return 'preparing';
  return before?.type === 'request/attempt' ? 'working' : 'place';
}

/** The loop's own end of a turn whose message was discarded before a step took it. */
function isLeftEmpty(reason: TurnEndReason): boolean {
  return reason.kind === 'interrupted' && reason.message.startsWith('Its message was discarded');
}

function toBody({ seq: _, at: __, ...body }: LogEvent): EventBody {
  return body;
}
