/**
 * Recovery: the runtime's process is killed in the middle of an answer and started again on its disk. Measured is the time
 * from the moment it listens until the log of the session that was cut off goes on: with nobody connected, when the alarm
 * has to bring the session back, and with a client that connects again as soon as it can.
 */
import { nowMs } from '../clock.ts';
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';
import { comeBack, startAnswer, watchSome } from './resume.ts';

/**
 * From the prompt to the kill. The alarm is armed with the prompt, for 3 s later, and again when it fires: what of that is
 * left when the process is there again is what an untouched session waits.
 */
const KILLS_AFTER_MS = [200, 1_700, 900, 2_600, 3_300];
const LONGEST_MS = 30_000;
const POLL_MS = 10;

export async function measureRecovery(stand: Stand, rounds: number): Promise<Figure[]> {
  const alone: number[] = [];
  const connected: number[] = [];
  const resumed: number[] = [];
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const afterMs = KILLS_AFTER_MS[round % KILLS_AFTER_MS.length] ?? 0;
    const untouched = await cutOff(stand, `alone${round}`, afterMs, ({ model }) =>
      waitForRequest(stand, model),
    );
    alone.push(untouched.goesOnMs);
    starts.push(untouched.startMs);
    const watched = await cutOff(stand, `watched${round}`, afterMs, ({ session, cursor }) =>
      reconnect(stand, session, cursor),
    );
    connected.push(watched.goesOnMs);
    // A connection is taken before the process says that it listens, and waits.
    resumed.push(watched.seen.textAt - Math.max(watched.seen.askedAt, watched.listenedAt));
  }
  return [
    toFigure('recovery_ms', 'ms', alone),
    toFigure('recovery_connected_ms', 'ms', connected),
    toFigure('resume_ms@killed', 'ms', resumed),
    toFigure('restart_ms', 'ms', starts),
  ];
}

interface Cut {
  session: string;
  model: string;
  /** Of a client that has the beginning of the answer. */
  cursor: string;
}

/** Kills in the middle of an answer, starts again, and waits for `goesOn`, which begins as the process starts. */
async function cutOff<T>(
  stand: Stand,
  name: string,
  afterMs: number,
  goesOn: (cut: Cut) => Promise<T>,
): Promise<{ seen: T; listenedAt: number; goesOnMs: number; startMs: number }> {
  const { perch, perchWorker } = stand;
  const { session, model } = await startAnswer(stand, name);
  const begun = nowMs();
  const cursor = await watchSome(stand, session);
  await new Promise((resolve) => setTimeout(resolve, begun + afterMs - nowMs()));
  await perchWorker.kill();
  const killedAt = Date.now();
  const startedAt = nowMs();
  const [listenedAt, seen] = await Promise.all([perchWorker.restart(), goesOn({ session, model, cursor })]);
  const events = await perch.events(session, 0);
  const next = events.find(({ at }) => at > killedAt);
  if (!next) throw new Error('the session does not go on');
  await perch.cancel(session);
  // The log tells the time of day, and the process our clock.
  const listenedOnDay = Date.now() - (nowMs() - listenedAt);
  return { seen, listenedAt, goesOnMs: next.at - listenedOnDay, startMs: listenedAt - startedAt };
}

/** The second request for the model: seen by its server, so that nothing touches the session. */
async function waitForRequest({ model: server }: Stand, model: string): Promise<void> {
  await repeat(async () => (await server.begun(model)).length > 1);
}

/** Tries until the service is there. When the attempt that succeeded began, and when it had text; `nowMs()`. */
async function reconnect(
  stand: Stand,
  session: string,
  cursor: string,
): Promise<{ askedAt: number; textAt: number }> {
  const found = { askedAt: Number.NaN, textAt: Number.NaN };
  await repeat(async () => {
    found.askedAt = nowMs();
    const back = await comeBack(stand, session, cursor).catch(() => null); // nobody listens yet
    found.textAt = nowMs();
    return back !== null;
  });
  return found;
}

async function repeat(isDone: () => Promise<boolean>): Promise<void> {
  const until = nowMs() + LONGEST_MS;
  while (!(await isDone())) {
    if (nowMs() > until) throw new Error(`nothing happened in ${LONGEST_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
