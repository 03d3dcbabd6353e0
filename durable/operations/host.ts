/**
 * What an operation works with: the session as it stands in this object, and the ports to the world around it. An
 * operation asks for the session again after each await, because it may have been erased or mended meanwhile.
 */
import type { Deployment } from '../composition.ts';
import { sessionDamaged, sessionNotFound } from '../errors.ts';
import type { ForkSource } from '../fork/types.ts';
import type { Driver, Faults, LoopPorts } from '../loop/index.ts';
import type { ModelResolver } from '../models/index.ts';
import type { DirectoryRpc } from '../rpc.ts';
import type { SkillSource } from '../skills/index.ts';
import type { SqlPort } from '../storage/index.ts';
import type { Subscribers } from '../subscribers/index.ts';
import type { Watchdog } from '../watchdog.ts';
import type { SessionParts } from '../wiring.ts';

export interface Live {
  parts: SessionParts;
  ports: LoopPorts;
  driver: Driver;
  subscribers: Subscribers;
}

/** A session whose rows cannot all be read. It takes no prompt and runs no turn until it is repaired. */
export interface Damaged {
  /** In words for people. */
  wrong: string[];
  /** The parts that can be read all the same, the open turn left alone; null where there are none. */
  parts: SessionParts | null;
}

/** How the session stands in this object. */
export type Presence =
  | { kind: 'absent' }
  | { kind: 'live'; live: Live }
  | { kind: 'damaged'; damaged: Damaged }
  /** `live` is what is still to be stopped; `done` is null between two attempts. */
  | { kind: 'erasing'; live: Live | null; done: Promise<void> | null }
  /** It becomes a copy of another session, and does not exist yet. `done` never rejects. */
  | { kind: 'forking'; done: Promise<void> };

export interface Host {
  deployment: Deployment;
  sql: SqlPort;
  storage: Pick<DurableObjectStorage, 'getAlarm' | 'setAlarm' | 'deleteAlarm' | 'deleteAll' | 'sync'>;
  models: ModelResolver;
  skills: SkillSource;
  watchdog: Watchdog;
  faults: Faults;
  now: () => number;
  directory: (name: string) => DirectoryRpc;
  /** Another session of the tenant, by its object's name. */
  session: (name: string) => ForkSource;
  /** Work that nobody waits for. */
  background: (work: Promise<unknown>) => void;
  /** The parts over the rows as they are. Throws where they cannot be read. */
  openLive: () => Live;
  closeSockets: (code: number, reason: string) => void;
  reportFailure: (part: string, error: unknown) => void;
  presence: Presence;
  /** The newest telling of the directory, settled or not: an erasing waits for it, or its listing would stay. */
  listing: Promise<void> | null;
  /** Restarts the object: nothing in memory can be trusted any more. */
  restart: (reason: string) => void;
}

/** The session. Throws `session_not_found`, and `session_damaged` with what is wrong. */
export function requireLive(host: Host): Live {
  const { presence } = host;
  switch (presence.kind) {
    case 'live':
      return presence.live;
    case 'damaged':
      throw describeDamage(presence.damaged.wrong);
    default:
      throw notFound();
  }
}

/** What of the session can be read, damaged or not. Throws `session_not_found` and `session_damaged`. */
export function requireReadable(host: Host): SessionParts {
  const { presence } = host;
  if (presence.kind === 'live') return presence.live.parts;
  if (presence.kind !== 'damaged') throw notFound();
  const { parts, wrong } = presence.damaged;
  if (!parts) throw describeDamage(wrong);
  return parts;
}

/** Throws `session_damaged` where messages wait that cannot be read: nothing may overtake them unseen. */
export function refuseDamagedInbox({ parts }: Live): void {
  if (parts.inbox.isDamaged()) throw describeDamage(['Messages in the inbox.']);
}

export function describeDamage(wrong: string[]) {
  return sessionDamaged(`Rows of this session cannot be read: ${wrong.join(' ')} A repair mends it.`, {
    wrong,
  });
}

export function notFound() {
  return sessionNotFound('No session of this id is yours.');
}
