/** Rows of nobody: what is left of a copy that was cut off before its last commit. */
import type { Host } from './host.ts';

/** When they are cleared away with nobody asking. */
const SWEEP_MS = 60_000;

/** Armed before there is anything to clear away. */
export async function armSweep({ storage, now }: Host): Promise<void> {
  await storage.setAlarm(now() + SWEEP_MS);
}

/** The alarm of an object that is no session: a copy is still running, or was cut off. */
export async function sweepUnborn(host: Host): Promise<void> {
  if (host.presence.kind === 'forking') await armSweep(host);
  else if (host.presence.kind === 'absent') await clearUnborn(host);
}

/** The alarm goes last: until the rows are gone, it would bring the object back to go on here. */
export async function clearUnborn({ storage }: Host): Promise<void> {
  await storage.deleteAll();
  await storage.deleteAlarm();
}
