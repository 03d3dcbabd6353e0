/**
 * A client that comes back in the middle of an answer: from its request to the first text that it lacks. The object is
 * warm; or it was ended meanwhile, and has to take the turn over and to ask the model again; or the same, and the client has
 * nothing of the answer, so that the rows have text for it.
 */
import { nowMs } from '../clock.ts';
import { readReceived } from '../received.ts';
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';
import { watch } from '../viewer.ts';
import { measureReconnect } from './reconnect.ts';

/** Some 20 s: longer than the reconnects to it take. */
const SCRIPT = 'deltas-2000-every-10';
const RECONNECTS_A_SESSION = 10;
/** What a client misses. */
const AWAY_MS = 50;
/** By then some rows hold the text so far. */
const WRITTEN_MS = 300;

export async function measureResume(stand: Stand, rounds: number): Promise<Figure[]> {
  const warm: number[] = [];
  const evicted: number[] = [];
  const afresh: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { session } = await startAnswer(stand, `resume${round}`);
    let cursor = await watchSome(stand, session);
    for (let i = 0; i < RECONNECTS_A_SESSION; i++) {
      await pause(AWAY_MS);
      const back = await comeBack(stand, session, cursor);
      warm.push(back.ms);
      cursor = back.cursor;
    }
    await stand.perch.evict(session);
    const back = await comeBack(stand, session, cursor);
    evicted.push(back.ms);
    await pause(WRITTEN_MS);
    await stand.perch.evict(session);
    afresh.push((await comeBack(stand, session, seqOf(back.cursor))).ms);
    await stand.perch.cancel(session);
  }
  return [
    toFigure('resume_ms@warm', 'ms', warm),
    toFigure('resume_ms@evicted', 'ms', evicted),
    toFigure('resume_ms@evicted_afresh', 'ms', afresh),
  ];
}

/** A session at the beginning of a long answer, by a model of its own. */
export async function startAnswer(
  { perch }: Stand,
  name: string,
): Promise<{ session: string; model: string }> {
  const model = `${SCRIPT}-${name}`;
  const session = await perch.open(`stand-in/${model}`);
  await perch.post(session, 'Tell me all that there is to tell.');
  return { session, model };
}

/** A client that has lost what it had of the answer knows where the log stood. */
function seqOf(cursor: string): string {
  return cursor.split('.')[0] ?? cursor;
}

/** Watches until some text has come, and leaves. The cursor behind it. */
export async function watchSome({ perch: { url, headers } }: Stand, session: string): Promise<string> {
  const viewer = await watch('sse', { url, headers, session, after: '0' });
  await viewer.until('event: delta');
  await pause(AWAY_MS);
  viewer.leave();
  const { cursor } = readReceived('sse', viewer.text(), '0');
  if (cursor === null) throw new Error('nothing came');
  return cursor;
}

/** Throws where nobody listens, or the stream ends without text. */
export function comeBack({ perch: { url, headers } }: Stand, session: string, cursor: string) {
  const open = (): Promise<Response> =>
    fetch(`${url}/v1/sessions/${session}/events`, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': cursor },
    });
  return measureReconnect(open, nowMs);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
