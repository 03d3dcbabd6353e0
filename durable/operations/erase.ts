/**
 * Erasing is durable from its first commit: from there the session is a 404 for everybody, and whatever kills the
 * object, the alarm or the next request goes on with it.
 */
import { isInitialised, markErasing, readPlace } from '../storage/index.ts';
import { waitWithTimer } from '../time-limit.ts';
import { type Host, type Live, notFound } from './host.ts';

/** The socket's close code when its session is erased: in the range that RFC 6455 leaves to applications. */
const ERASED = 4410;
/** A turn that was cancelled ends within moments; one that does not would write into what comes after. */
const DRAIN_MS = 5_000;

/** Resolves when storage, alarm and listing are gone. Throws `session_not_found`. */
export async function eraseSession(host: Host): Promise<null> {
  const { presence } = host;
  if (presence.kind === 'absent' || presence.kind === 'forking') throw notFound();
  if (presence.kind !== 'erasing') {
    const live = presence.kind === 'live' ? presence.live : null;
    host.sql.atomically(() => {
      markErasing(host.sql);
      // So that no further turn starts while the running one is stopped.
      if (live) live.parts.inbox.clear();
      host.watchdog.arm();
    });
    host.presence = { kind: 'erasing', live, done: null };
    await host.faults.hit('erase.marked');
  }
  await continueErasing(host);
  return null;
}

/** Goes on with an erasing, or waits for the one under way. A failure leaves it to the alarm. */
export function continueErasing(host: Host): Promise<void> {
  const { presence } = host;
  if (presence.kind !== 'erasing') return Promise.resolve();
  presence.done ??= finishErasing(host, presence.live).catch((error: unknown) => {
    presence.done = null;
    host.watchdog.retryLater();
    throw error;
  });
  return presence.done;
}

/** Waits while the session is erased, or becomes a copy of another one: whether its id is free is open until then. */
export async function untilDecided(host: Host): Promise<void> {
  for (;;) {
    if (host.presence.kind === 'erasing') await continueErasing(host);
    else if (host.presence.kind === 'forking') await host.presence.done;
    else return;
  }
}

/** A driver that does not stop dies with the object; the next one has none, and goes on with the erasing. */
async function stopDriver(host: Host, { driver }: Live): Promise<void> {
  driver.cancel('erase');
  const timer = waitWithTimer(DRAIN_MS);
  const isStopped = await Promise.race([driver.settled().then(() => true), timer.done.then(() => false)]);
  timer.cancel();
  if (isStopped) return;
  await host.storage.sync();
  host.restart('a turn did not stop for the erasing of its session');
}

async function finishErasing(host: Host, live: Live | null): Promise<void> {
  if (live) await stopDriver(host, live);
  // A driver that stops lets go of the alarm; from here it is the erasing's.
  host.watchdog.arm();
  await host.faults.hit('erase.drained');
  // A second attempt may find nothing more.
  const place = isInitialised(host.sql) ? readPlace(host.sql) : null;
  if (place) {
    await host.listing;
    await host.directory(place.directory).remove(place.id);
  }
  await host.faults.hit('erase.unlisted');
  host.closeSockets(ERASED, 'the session was erased');
  // The alarm goes last: until the rows are gone, it would bring the object back to go on here.
  await host.storage.deleteAll();
  await host.faults.hit('erase.emptied');
  host.watchdog.gone();
  await host.storage.deleteAlarm();
  host.presence = { kind: 'absent' };
  await host.faults.hit('erase.done');
}
