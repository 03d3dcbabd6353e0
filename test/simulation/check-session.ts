/** A session after the world has come to rest: log against database, against what clients were told, against effects. */
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import type { LogEvent } from '../../durable/transcript/events.ts';
import { checkLog, type LogSummary } from './check-log.ts';
import { LIMITS } from './cost-model.ts';
import type { AgentName } from './deployment.ts';
import type { Known } from './known.ts';
import type { Complain } from './problems.ts';
import { DID, DID_NOT, TOOL_TRAITS, type ToolName } from './tools.ts';
import type { World } from './world.ts';

/** All checks of one session; `exported` is what its export said, blobs included. */
export function checkSession(world: World, known: Known, agent: AgentName, exported: string): LogEvent[] {
  const complain: Complain = (kind, text) => world.complain(kind, `${known.id}: ${text}`);
  const session = parseExport(exported);
  for (const { seq, problem } of auditSession(session).findings)
    complain('wrong', `audit, event ${seq}: ${problem}`);
  const { events } = session;
  const log = checkLog(events, LIMITS[agent], known.forkedAt, complain);
  checkRest(known, log, complain);
  checkRows(known, log, complain);
  checkAnswers(known, log, complain);
  checkCancels(known, log, complain);
  checkEffects(world, known, events, complain);
  checkViewers(known, events, complain);
  return events;
}

/** Everything is terminal, and nothing would wake the object. */
function checkRest({ host }: Known, log: LogSummary, complain: Complain): void {
  if (log.isTurnOpen) complain('stuck', 'a turn is open');
  if (log.waiting.length > 0) complain('stuck', `messages wait: ${log.waiting.join()}`);
  if (host.disk.alarm() !== null) complain('wrong', 'an alarm is left');
}

/** The rows are what the log says. */
function checkRows({ host }: Known, log: LogSummary, complain: Complain): void {
  const { disk } = host;
  const differ = (what: string, there: unknown, expected: unknown): void => {
    const [a, b] = [JSON.stringify(there), JSON.stringify(expected)];
    if (a !== b) complain('wrong', `${what}: the rows say ${a}, the log ${b}`);
  };
  const [state] = disk.read('SELECT * FROM state');
  differ('turns', state?.['turns'], log.turns);
  differ('the open turn', state?.['open_turn_seq'], 0);
  differ('the newest header', state?.['header_seq'], log.headerSeq);
  differ('usage', JSON.parse(String(state?.['usage'])), log.usage);
  const spent = JSON.parse(String(state?.['spent']));
  if (log.turns > 0) {
    differ(
      'what was spent',
      [spent?.steps, spent?.tool_calls, spent?.wall_ms, spent?.tokens],
      [log.spent.steps, log.spent.tool_calls, log.spent.wall_ms, log.spent.tokens],
    );
    if (Math.abs(spent.micro_usd - log.spent.micro_usd) > 1e-6)
      differ('money', spent.micro_usd, log.spent.micro_usd);
  }
  differ('a cancel', JSON.parse(String(state?.['cancel'])), null);
  differ('takeovers', JSON.parse(String(state?.['resumed'])), null);
  differ(
    'the inbox',
    disk.read('SELECT id FROM inbox ORDER BY position').map(({ id }) => id),
    log.waiting,
  );
  differ('text of an answer in progress', disk.read('SELECT count(*) AS count FROM stream')[0]?.['count'], 0);
  const seen = disk.read(`SELECT events.seq AS seq FROM surface JOIN events
    ON events.seq >= surface.first AND (surface.last IS NULL OR events.seq <= surface.last)
    WHERE events.type IN ('user/message', 'assistant/message', 'tool/result') ORDER BY ordinal, seq`);
  differ(
    'the surface',
    seen.map(({ seq }) => seq),
    log.surface,
  );
}

/** What was acknowledged is there, once. */
function checkAnswers(known: Known, log: LogSummary, complain: Complain): void {
  const admitted = new Map<number, string[]>();
  for (const [message, { operation, keyed }] of known.tried) {
    if (!keyed || !log.fates.has(message)) continue;
    admitted.set(operation, [...(admitted.get(operation) ?? []), message]);
  }
  for (const [operation, messages] of admitted) {
    if (messages.length > 1) complain('doubled', `operation ${operation} is admitted as ${messages.join()}`);
  }
  for (const [operation, receipts] of known.receipts) {
    for (const receipt of receipts) {
      if (!log.fates.has(receipt.message))
        complain('lost', `${receipt.message} of operation ${operation} is nowhere`);
    }
    const isKeyed = receipts.some(({ message }) => known.tried.get(message)?.keyed);
    const different = new Set(receipts.map((receipt) => JSON.stringify(receipt)));
    if (isKeyed && different.size > 1)
      complain('doubled', `operation ${operation} got ${different.size} receipts`);
  }
  for (const [message, answer] of known.discarded) {
    const fate = log.fates.get(message);
    if (answer === 'discarded' && fate !== 'discarded')
      complain('lost', `${message} was discarded and is ${fate}`);
    if (answer === 'claimed' && (fate === undefined || fate === 'waiting')) {
      complain('wrong', `${message} is ${fate}, and a turn is said to have it`);
    }
  }
}

function checkCancels({ cancelled }: Known, log: LogSummary, complain: Complain): void {
  for (const turn of cancelled) {
    const reason = log.ends.get(turn);
    if (reason?.kind !== 'aborted')
      complain('lost', `turn ${turn} was cancelled and ended ${JSON.stringify(reason)}`);
  }
}

/** What has effects happened at most once where it must, and what the model was told of it is true. */
function checkEffects(world: World, known: Known, events: readonly LogEvent[], complain: Complain): void {
  const from = known.parent?.atSeq ?? 0;
  for (const event of events) {
    if (event.seq <= from || event.type !== 'tool/result') continue;
    if (!Object.hasOwn(TOOL_TRAITS, event.name)) continue;
    const happened = world.effects.get(`${known.id} ${event.call}`) ?? 0;
    const { idempotent } = TOOL_TRAITS[event.name as ToolName];
    if (!idempotent && happened > 1)
      complain('doubled', `${event.call} of ${event.name} took effect ${happened} times`);
    const text = event.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const tells = (what: string): void =>
      complain('wrong', `${event.call} took effect ${happened} times, told: ${what}`);
    if (text.includes(DID) && happened === 0) tells(text);
    if (text.includes(DID_NOT) && happened > 0) tells(text);
    if (event.error === 'TOOL_NOT_STARTED' && happened > 0) tells(text);
    if (text === '') complain('wrong', `${event.call} has an empty result`);
  }
}

/** Everybody who stayed has the whole log, as it is. */
function checkViewers(known: Known, events: readonly LogEvent[], complain: Complain): void {
  for (const [i, viewer] of known.viewers.entries()) {
    if (!viewer.isAttached()) complain('wrong', `viewer ${i + 1} could not come back`);
    if (viewer.lastSeq() !== events.length) {
      complain('lost', `viewer ${i + 1} has ${viewer.lastSeq()} events of ${events.length}`);
    }
    for (const [seq, data] of viewer.events) {
      if (JSON.stringify(events[seq - 1]) !== JSON.stringify(sortAs(events[seq - 1], JSON.parse(data)))) {
        complain('wrong', `viewer ${i + 1} got another event ${seq}`);
      }
    }
  }
}

/** Members in the order of another object: their order is nobody's promise. */
function sortAs(model: unknown, value: unknown): unknown {
  if (typeof model !== 'object' || model === null || typeof value !== 'object' || value === null)
    return value;
  if (Array.isArray(model) || Array.isArray(value)) {
    if (!Array.isArray(model) || !Array.isArray(value)) return value;
    return value.map((item, i) => sortAs(model[i], item));
  }
  const names = [...new Set([...Object.keys(model), ...Object.keys(value)])];
  const sorted: Record<string, unknown> = {};
  for (const name of names) {
    if (Object.hasOwn(value, name)) sorted[name] = sortAs(Reflect.get(model, name), Reflect.get(value, name));
  }
  return sorted;
}
