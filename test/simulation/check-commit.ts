/** What must hold of an object's rows and its alarm after every commit. */
import type { FaultPlan } from './faults.ts';
import type { Complain } from './problems.ts';
import type { Disk } from './storage.ts';

interface Committed {
  name: string;
  disk: Disk;
  faults: FaultPlan;
  isAlarmHandled: () => boolean;
}

/** With nobody connected, work goes on within this time after the object is gone. */
const AWAKE_WITHIN_MS = 5_000;

/** Whether the rows say that something is to be done; null where there is no session. */
export function readRest({ disk }: Committed): 'work' | 'idle' | null {
  const tables = disk.read("SELECT count(*) AS count FROM sqlite_master WHERE name IN ('session', 'stream')");
  if (Number(tables[0]?.['count']) < 2 || disk.read('SELECT 1 FROM session').length === 0) return null;
  const [state] = disk.read('SELECT open_turn_seq AS open FROM state');
  const [waiting] = disk.read('SELECT count(*) AS count FROM inbox WHERE wakes = 1');
  return Number(state?.['open'] ?? 0) > 0 || Number(waiting?.['count'] ?? 0) > 0 ? 'work' : 'idle';
}

/**
 * Promise 2: there is no moment in which work is durable and nothing would wake the object for it. And text of an
 * answer in progress is there only while a turn is.
 */
export function checkCommitted(host: Committed, now: number, complain: Complain): void {
  const { disk } = host;
  const rest = readRest(host);
  if (rest === 'idle' && disk.read('SELECT 1 FROM stream').length > 0) {
    complain('wrong', `${host.name}: text of an answer is left, and no turn is open`);
  }
  if (rest !== 'work' || host.isAlarmHandled()) return;
  const alarm = disk.alarm();
  if (alarm === null) complain('lost', `${host.name}: work is durable, and no alarm is stored`);
  else if (alarm > now + AWAKE_WITHIN_MS && !host.faults.hasFailed()) {
    complain('stuck', `${host.name}: work is durable, and the alarm comes in ${Math.round(alarm - now)} ms`);
  }
}
