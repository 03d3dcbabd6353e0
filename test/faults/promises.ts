/**
 * The six promises of a session (*Crash safety*), a check each over what is left after it was killed and brought
 * back. A check returns what it finds wrong: something lost, something twice, something that never goes on, or a word
 * that is not kept.
 */
import { auditSession } from '../../durable/audit/index.ts';
import type { SurfaceEvent } from '../../durable/transcript/events.ts';
import { foldSurface } from '../../durable/transcript/surface-fold.ts';
import {
  broken,
  checkAttempts,
  checkCalls,
  checkMessages,
  checkTranscript,
  checkTurns,
  eventsOf,
  type Finding,
  findTornCall,
  lost,
  type Role,
  stuck,
} from '../../scripts/faults/history.ts';
import { EFFECTFUL_TOOLS, IDEMPOTENT_TOOLS } from './deployment.ts';
import type { Evidence, Rows } from './evidence.ts';
import type { Birth } from './lives.ts';

export type Promised =
  | 'acknowledged once'
  | 'alarm before work'
  | 'constant start'
  | 'recovery by the log'
  | 'acceptable transcript'
  | 'fold is live';

/** In the order of *Crash safety*. */
export const PROMISES: Readonly<Record<Promised, (evidence: Evidence) => Finding[]>> = {
  'acknowledged once': checkAcknowledged,
  'alarm before work': checkAlarm,
  'constant start': checkStart,
  'recovery by the log': checkRecovery,
  'acceptable transcript': checkAcceptable,
  'fold is live': checkFold,
};

/** 1: what was acknowledged is durable, and later terminal, once; every turn that started has one end. */
export function checkAcknowledged({ rows, ledger, tables }: Evidence): Finding[] {
  if (rows && ledger.isErased) return [broken('the session was erased and is there')];
  if (!rows) {
    if (ledger.eraseAsked)
      return tables.length === 0 ? [] : [broken(`tables are left: ${tables.join(', ')}`)];
    return ledger.sent.length === 0 ? [] : [lost('the session is gone')];
  }
  const said = eventsOf(rows.events)('user/message').map(({ message }) => message.id as string);
  const parked = ledger.sent.filter(({ id, delivery }) => delivery !== 'inject' && rows.inbox.includes(id));
  return [
    ...checkMessages(rows.events, ledger.sent, rows.inbox),
    ...checkTurns(rows.events),
    ...parked.map(({ id }) => stuck(`${id} waits in an idle session`)),
    ...ledger.discarded
      .filter((id) => said.includes(id))
      .map((id) => broken(`${id} was discarded and is said`)),
  ];
}

/** 2: wherever there is work an alarm is stored; none where there is none. */
export function checkAlarm({ births, alarm }: Evidence): Finding[] {
  const findings = births.flatMap(checkBirth);
  if (alarm !== null) findings.push(broken('an alarm is left though the session is idle'));
  return findings;
}

function checkBirth({ work, alarm, isOfAlarm }: Birth): Finding[] {
  return work !== null && alarm === null && !isOfAlarm
    ? [lost(`an object had ${work} and no alarm: nobody would have woken it`)]
    : [];
}

/** Rows that a start may read besides the open turn: the list of tables, schema, identity, state, newest seq, uses. */
const START_ROWS = 48;
/** How often a start may read the open turn: to fold it, to count it, to check where it begins. */
const TURN_READS = 3;

/** 3: a start reads a constant number of rows and, where a turn is open, that turn. */
export function checkStart({ births }: Evidence): Finding[] {
  return births.flatMap(({ rowsRead, openTurnEvents, events }) =>
    rowsRead > START_ROWS + TURN_READS * openTurnEvents
      ? [broken(`a start read ${rowsRead} rows of a log of ${events}, ${openTurnEvents} in the open turn`)]
      : [],
  );
}

/** 4: attempts are counted before they are made; what is told of a call's effect is true. */
export function checkRecovery({ rows, outside, ownAfter }: Evidence): Finding[] {
  if (!rows) return [];
  // What a fork shares with its parent, the parent's tools did.
  const own = rows.events.filter(
    (event) =>
      event.seq > ownAfter &&
      (!event.type.startsWith('tool/') || ('name' in event && EFFECTFUL_TOOLS.has(event.name))),
  );
  const effects = outside.effects.map(({ call }) => call);
  return [
    ...checkAttempts(rows.events, outside.prompts.length),
    ...checkCalls(own, effects, (tool) => IDEMPOTENT_TOOLS.has(tool)),
  ];
}

/** 5: whenever a model was asked, the transcript was one that a provider takes: every call one result, no orphans. */
export function checkAcceptable({ rows, outside }: Evidence): Finding[] {
  if (!rows) return [];
  const sent = outside.prompts.flatMap((prompt) => findTornCall(prompt.flatMap(toRoles)) ?? []);
  return [
    ...checkTranscript(rows.events),
    ...sent.map((problem) => broken(`a request that was sent: ${problem}`)),
  ];
}

function toRoles(message: Evidence['outside']['prompts'][number][number]): Role[] {
  if (message.role === 'assistant') {
    const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
    return [{ role: 'assistant', calls }];
  }
  if (message.role !== 'tool') return [{ role: 'user' }];
  return message.content.flatMap((part): Role[] =>
    part.type === 'tool-result' ? [{ role: 'tool', call: part.toolCallId }] : [],
  );
}

/** 6: what is kept beside the log is what the log says, and a fresh object says what the old one said. */
export function checkFold({ rows, live, fresh }: Evidence): Finding[] {
  if (!rows) return [];
  const { events, state, inbox, streamRows, blobs } = rows;
  const of = eventsOf(events);
  const findings = auditSession({ events, blobs }).findings.map(({ seq, problem }) =>
    broken(`audit, seq ${seq}: ${problem}`),
  );
  const expectEqual = (what: string, kept: unknown, folded: unknown): void => {
    const [a, b] = [JSON.stringify(kept), JSON.stringify(folded)];
    if (a !== b) findings.push(broken(`${what}: ${a} is kept, ${b} is expected`));
  };
  expectEqual('turns', state.turns, of('turn/start').length);
  expectEqual('open turn', state.openTurnSeq, 0);
  expectEqual('header', state.headerSeq, of('request/header').at(-1)?.seq ?? 0);
  expectEqual(
    'output tokens',
    state.usage.output,
    of('turn/end').reduce((sum, { usage }) => sum + usage.output, 0),
  );
  expectEqual('cancel', state.cancel, null);
  expectEqual('rows of an open answer', streamRows, 0);
  const surface = events.reduce<readonly SurfaceEvent[]>(foldSurface, []).map(({ seq }) => seq as number);
  expectEqual('surface', listSurface(rows), surface);
  const accounted = new Set<string>(
    [...of('user/message'), ...of('inbox/discarded')].map(({ message }) => message.id),
  );
  const waiting = of('inbox/admitted').map(({ message }) => message as string);
  expectEqual(
    'inbox',
    inbox,
    waiting.filter((id) => !accounted.has(id)),
  );
  expectEqual('what a fresh object says', fresh, live);
  return findings;
}

function listSurface({ events, surface }: Rows): number[] {
  const onSurface = ['user/message', 'assistant/message', 'tool/result'];
  return surface.flatMap(({ first, last }) =>
    events
      .filter(({ seq, type }) => onSurface.includes(type) && seq >= first && seq <= (last ?? seq))
      .map(({ seq }) => seq),
  );
}
