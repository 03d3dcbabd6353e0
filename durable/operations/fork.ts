/**
 * A fork: a session that begins as a copy of another one's log. The child exists from one commit on, the last, which
 * writes its identity. Whatever stops it before leaves rows of nobody; the next attempt or the alarm clears them away.
 */
import { sessionExists } from '../errors.ts';
import { copyLog, createLender, type ForkPoint, type Lender, type Prefix, unwrap } from '../fork/index.ts';
import { checkRoute } from '../models/index.ts';
import { type CreateSession, type ForkSession, type SessionView, sessionView } from '../rpc.ts';
import { clearRows, migrate, readState, writeIdentity, writeState } from '../storage/index.ts';
import { writeRanges } from '../transcript/index.ts';
import { describeSession } from '../wiring.ts';
import { listSession } from './drive.ts';
import { continueErasing } from './erase.ts';
import { type Host, type Live, requireLive } from './host.ts';
import { armSweep, clearUnborn } from './unborn.ts';

/**
 * Throws `session_exists`, `session_not_found` for the parent, `not_a_boundary`, `unknown_model`; nothing is kept then.
 * The same request again answers as the first; after a crash it begins anew where the child does not exist.
 */
export async function forkSession(host: Host, input: ForkSession): Promise<SessionView> {
  if (input.model !== null) checkRoute(input.model, host.deployment.providers);
  await continueErasing(host);
  while (host.presence.kind === 'forking') await host.presence.done;
  if (host.presence.kind !== 'absent') {
    const first = requireLive(host).parts.receipts.find(input.idempotency, sessionView);
    if (first) return first;
    throw sessionExists('The id is taken.');
  }
  const { promise: done, resolve } = Promise.withResolvers<void>();
  host.presence = { kind: 'forking', done };
  try {
    const { live, view } = await makeChild(host, input);
    await host.faults.hit('fork.adopted');
    listSession(host, live);
    return view;
  } finally {
    if (host.presence.kind === 'forking') {
      await clearUnborn(host).catch((error: unknown) => host.reportFailure('clearing a copy', error));
      host.presence = { kind: 'absent' };
    }
    resolve();
  }
}

async function makeChild(host: Host, input: ForkSession): Promise<{ live: Live; view: SessionView }> {
  const { sql, now } = host;
  const pass = async (point: string): Promise<void> => host.faults.hit(point);
  const source = host.session(input.parentObject);
  const point = unwrap(await source.forkPoint(input.atSeq));
  await pass('fork.pointed');
  await armSweep(host);
  sql.atomically(() => {
    migrate(sql);
    clearRows(sql);
  });
  await pass('fork.begun');
  const prefix = await copyLog({ sql, source, now, pass }, input, point);
  await pass('fork.copied');
  const made = sql.atomically(() => writeChild(host, input, point, prefix));
  host.presence = { kind: 'live', live: made.live };
  // In the same block of writes: a session that is idle has no alarm.
  await host.storage.deleteAlarm();
  return made;
}

/** The commit from which the child exists. */
function writeChild(
  host: Host,
  input: ForkSession,
  point: ForkPoint,
  prefix: Prefix,
): { live: Live; view: SessionView } {
  const { sql } = host;
  const { tenant, directory, id, idempotency } = input;
  const { agent, cwd, persona, tools } = point;
  const model = input.model ?? point.model;
  const metadata = input.metadata ?? point.metadata;
  const about = { agent, model, cwd, metadata, persona, tools };
  const create: CreateSession = { tenant, directory, id, ...about, idempotency };
  writeIdentity(sql, create, agent, cwd, host.now(), { session: input.parent, at_seq: point.at_seq });
  const { turns, headerSeq, usage, spent } = prefix;
  writeState(sql, { ...readState(sql), turns, headerSeq, usage, spent });
  writeRanges(sql, prefix.surface);
  const live = host.openLive();
  const view = describeSession(live.parts, false);
  live.parts.receipts.keep(idempotency, view);
  return { live, view };
}

/** The session as a parent of forks. */
export function lend(host: Host): Lender {
  const { sql } = host;
  const { identity, log, state } = requireLive(host).parts;
  return createLender({ sql, identity, log, state });
}
