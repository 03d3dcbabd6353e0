/** What the object does by itself: work goes on, the tenant's directory is told, the alarm is answered. */
import { isParked } from '../loop/index.ts';
import { nextAction } from '../transcript/index.ts';
import { isStuck } from '../watchdog.ts';
import type { SessionParts } from '../wiring.ts';
import { continueErasing } from './erase.ts';
import type { Host, Live } from './host.ts';
import { sweepUnborn } from './unborn.ts';

/** Whether the session has work that nobody needs to ask for again: a turn that waits for a person has none. */
export function hasWork({ parts, ports }: Live): boolean {
  return parts.turn() === null ? parts.inbox.wakes() : !isParked(ports);
}

/**
 * Starts the driver where there is work and none runs. A driver that stops and leaves work could not write the log:
 * it is tried again by the alarm, later each time.
 */
export function wakeIfNeeded(host: Host): void {
  const live = currentLive(host);
  if (!live || live.driver.isRunning()) return;
  if (!hasWork(live)) {
    guardParked(host, live);
    return;
  }
  const driven = live.driver.wake().then(() => {
    if (currentLive(host) !== live || live.driver.isRunning()) return;
    if (hasWork(live)) host.watchdog.retryLater();
    else host.watchdog.succeeded();
  });
  host.background(driven);
}

/**
 * A turn that waits for a person keeps one alarm, the end of the time to decide: also after a crash before it was set, and
 * after a message that came meanwhile brought an earlier one.
 */
function guardParked({ watchdog }: Host, { parts }: Live): void {
  const state = parts.turn();
  const action = state && nextAction(state);
  if (action?.kind === 'wait' && action.until !== null) watchdog.armAt(action.until);
}

/** No alarm stays behind when what it guarded is gone without a turn. */
export function restIfIdle(host: Host): void {
  const live = currentLive(host);
  if (live && !live.driver.isRunning() && live.parts.turn() === null && !hasWork(live))
    host.watchdog.disarm();
}

function currentLive({ presence }: Host): Live | null {
  return presence.kind === 'live' ? presence.live : null;
}

/**
 * The alarm's handler. A turn in progress is guarded by the next alarm; one that was cut off went on when this object
 * started; one that has not moved for longer than any limit in it allows never will, and the object starts anew.
 */
export async function answerAlarm(host: Host): Promise<void> {
  const { presence, watchdog } = host;
  watchdog.gone();
  if (presence.kind === 'erasing') {
    watchdog.arm();
    await continueErasing(host).catch((error: unknown) => host.reportFailure('erasing', error));
  }
  if (presence.kind === 'absent' || presence.kind === 'forking') await sweepUnborn(host);
  if (presence.kind !== 'live') return;
  const { driver } = presence.live;
  if (!driver.isRunning()) {
    wakeIfNeeded(host);
    return;
  }
  watchdog.arm();
  if (!isStuck(driver.lastProgress(), host.now())) return;
  host.reportFailure('the turn', new Error('nothing has moved in it; the object starts anew'));
  // What was not written when the object stops is undone, the alarm too.
  await host.storage.sync();
  host.restart('the turn is stuck');
}

/** Tells the tenant's directory. A failure costs nothing but the listing, and the next message tries again. */
export function listSession(host: Host, { parts }: Live): void {
  const { directory, id, agent, created_at, metadata } = parts.identity;
  const told = host
    .directory(directory)
    .add({ id, agent, created_at, metadata })
    .then(() => host.faults.hit('listing.told'))
    .then(() => {
      // The session may have been erased, and another made in its place.
      const { presence } = host;
      if (presence.kind === 'live' && presence.live.parts === parts) parts.state.write({ listed: true });
    })
    .catch((error: unknown) => host.reportFailure('directory', error));
  host.listing = told;
  host.background(told);
}

/** Tells the directory which skills were used. A failure costs nothing: it is told at the next turn's end. */
export function tellUses(host: Host, { identity, uses }: SessionParts): void {
  const told = uses
    .tell(async (list) => {
      await host.directory(identity.directory).recordUses(identity.id, list);
      await host.faults.hit('uses.told');
    })
    .catch((error: unknown) => host.reportFailure('skill uses', error));
  host.background(told);
}
