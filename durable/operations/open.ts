/** How the session stands when the object starts: constant work, and never an exception that would brick it. */
import {
  isInitialised,
  migrate,
  readIdentity,
  readPlace,
  readState,
  type SqlPort,
} from '../storage/index.ts';
import { openSession, type SessionParts } from '../wiring.ts';
import { listSession, tellUses, wakeIfNeeded } from './drive.ts';
import { continueErasing } from './erase.ts';
import type { Damaged, Host, Presence } from './host.ts';

/** Finds the session in the rows and starts what it left undone. */
export function enter(host: Host): void {
  host.presence = findPresence(host);
  const { presence } = host;
  if (presence.kind === 'erasing') {
    host.background(continueErasing(host).catch((error: unknown) => host.reportFailure('erasing', error)));
  }
  if (presence.kind !== 'live') return;
  wakeIfNeeded(host);
  tellUses(host, presence.live.parts);
  if (!presence.live.parts.state.read().listed) listSession(host, presence.live);
}

/** How the rows say that the session stands. */
export function findPresence(host: Host): Presence {
  const { sql } = host;
  // Asking stores nothing, so a probe for a session leaves no trace.
  if (!isInitialised(sql)) return { kind: 'absent' };
  try {
    migrate(sql);
    const place = readPlace(sql);
    if (!place) return { kind: 'absent' };
    if (place.erasing) return { kind: 'erasing', live: null, done: null };
    const live = host.openLive();
    checkOpenTurn(sql, live.parts);
    live.parts.inbox.count();
    return { kind: 'live', live };
  } catch (error) {
    host.reportFailure('opening the session', error);
    return { kind: 'damaged', damaged: describeDamaged(host) };
  }
}

/** Throws where the state row names an open turn and no turn begins there, or not all of its events are there. */
function checkOpenTurn(sql: SqlPort, { state, log }: SessionParts): void {
  const { openTurnSeq } = state.read();
  if (openTurnSeq === 0) return;
  const [first] = log.read(openTurnSeq, openTurnSeq);
  if (first?.type !== 'turn/start') throw new Error(`no turn starts at ${openTurnSeq}`);
  const [rows] = sql.all<{ count: number }>(
    'SELECT count(*) AS count FROM events WHERE seq >= ?',
    openTurnSeq,
  );
  if (rows?.count !== log.lastSeq() - openTurnSeq + 1) throw new Error('events of the open turn are missing');
}

function describeDamaged(host: Host): Damaged {
  const wrong: string[] = [];
  const attempt = <T>(what: string, read: () => T): T | null => {
    try {
      return read();
    } catch {
      // What it says was reported where it was met first.
      wrong.push(what);
      return null;
    }
  };
  const { sql, deployment, now } = host;
  const identity = attempt('The row that says what the session is.', () => readIdentity(sql));
  const state = attempt('The row that says where it stands.', () => readState(sql));
  if (!identity || !state) return { wrong, parts: null };
  const parts = attempt('Its database.', () => openSession(sql, identity, deployment, now, true));
  if (parts) attempt('The inbox.', () => parts.inbox.count());
  if (wrong.length > 0) return { wrong, parts: null };
  return { wrong: ['The events of the open turn.'], parts };
}
