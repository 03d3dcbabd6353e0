/**
 * Finds and mends what a fault left in a session's rows. One pass over the log in constant memory; what cannot be read is
 * kept as bytes and named, and everything that was done is in the log. Nothing is changed where nothing is wrong.
 */
import { addToPrefix } from '../../fork/index.ts';
import { createInbox, createReceipts } from '../../inbox/index.ts';
import { type IdempotencyClaim, type RepairReport, repairReport } from '../../rpc.ts';
import { createBlobs } from '../../storage/index.ts';
import { type Committed, createLog, type Log, type MessageId } from '../../transcript/index.ts';
import { describeSession } from '../../wiring.ts';
import { hasWork, wakeIfNeeded } from '../drive.ts';
import { describeDamage, type Host, type Live, notFound } from '../host.ts';
import { findPresence } from '../open.ts';
import type { Mend } from './mend.ts';
import { mendDifferences, mendUnreadable } from './mend-inbox.ts';
import { mendTurns, replaceRows } from './mend-log.ts';
import { mendIdentity, mendState, mendStream, mendSurface, mendUses } from './mend-rows.ts';
import { scanLog } from './scan.ts';

const REPAIR = 'repair';
const UNGUARDED = 'No alarm guarded the work; one is armed.';

interface Ask {
  by: string;
  idempotency: IdempotencyClaim | null;
}

/**
 * While a turn runs, its rows were read and are left alone: only the alarm and the inbox are looked at. Throws
 * `session_not_found`, and `session_damaged` where something is left that cannot be mended.
 */
export async function repairSession(host: Host, ask: Ask): Promise<RepairReport> {
  requirePresent(host);
  const receipts = createReceipts(host.sql, host.now);
  const first = receipts.find(ask.idempotency, repairReport);
  if (first) return first;
  await host.faults.hit('repair.checked');
  // Last: what is admitted while it is asked for brings its own alarm.
  const alarm = await host.storage.getAlarm();
  requirePresent(host);
  const { presence } = host;
  const running = presence.kind === 'live' && presence.live.driver.isRunning() ? presence.live : null;
  const isUnguarded = alarm === null && presence.kind === 'live' && hasWork(presence.live);
  const found: Mend[] = isUnguarded ? [{ did: UNGUARDED, events: [] }] : [];
  // From here to the receipt nothing awaits: it is one commit.
  const repaired = running ? mendBesideTurn(host, running, ask.by, found) : mendAll(host, ask.by, found);
  const live = requireMended(host);
  if (alarm === null) host.watchdog.gone();
  if (hasWork(live)) host.watchdog.arm();
  const report = { repaired, session: describeSession(live.parts, live.driver.isRunning()) };
  receipts.keep(ask.idempotency, report);
  await host.faults.hit('repair.committed');
  wakeIfNeeded(host);
  return report;
}

function requirePresent({ presence }: Host): void {
  if (presence.kind !== 'live' && presence.kind !== 'damaged') throw notFound();
}

function requireMended({ presence }: Host): Live {
  if (presence.kind === 'live') return presence.live;
  throw presence.kind === 'damaged' ? describeDamage(presence.damaged.wrong) : notFound();
}

/** Part of the log's own commit. Returns what was done, which is what the log says. */
function logMends(log: Log, by: string, mends: readonly Mend[]): string[] {
  if (mends.length === 0) return [];
  const result = mends.map(({ did }) => did);
  log.commit((append) => {
    append({ type: 'command/run', command: REPAIR, by });
    for (const { events } of mends) for (const event of events) append(event);
    append({ type: 'command/done', command: REPAIR, result });
  });
  return result;
}

function mendBesideTurn(host: Host, { parts }: Live, by: string, found: Mend[]): string[] {
  const { inbox, log, blobs } = parts;
  return host.sql.atomically(() => logMends(log, by, [...found, ...mendUnreadable(inbox, log, blobs)]));
}

/** Everything, in one block; then the session is opened anew over the mended rows. */
function mendAll(host: Host, by: string, found: Mend[]): string[] {
  const { sql } = host;
  const committed: Committed[] = [];
  const repaired = sql.atomically(() => {
    const { created, mends } = mendIdentity(sql);
    const blobs = createBlobs(sql);
    const scan = scanLog(sql, blobs, created);
    const { prefix, turn } = scan;
    mends.push(...replaceRows(sql, blobs, scan), ...mendSurface(sql, prefix), ...mendUses(sql));
    mends.push(...mendStream(sql, turn && !turn.isBroken ? turn.state : null), ...mendState(sql, prefix));
    const log = createLog(sql, blobs, host.now);
    log.observe((events) => committed.push(...events));
    const inbox = createInbox(sql, log);
    // In this order: a row that cannot be read is not lost.
    mends.push(...mendDifferences(inbox, log, prefix.waiting), ...mendUnreadable(inbox, log, blobs));
    mends.push(...mendTurns(scan, newMessageId));
    const result = logMends(log, by, [...found, ...mends]);
    for (const { event } of committed) addToPrefix(prefix, event);
    mendState(sql, prefix);
    return result;
  });
  if (repaired.length === 0 && host.presence.kind === 'live') return repaired;
  host.presence = findPresence(host);
  if (host.presence.kind === 'live') host.presence.live.subscribers.publishCommitted(committed);
  return repaired;
}

function newMessageId(): MessageId {
  return `inj_${crypto.randomUUID().replaceAll('-', '')}` as MessageId;
}
