/**
 * The object's own work in a step, at steps far apart of one session: from the answer that a model inside the isolate
 * hands over at once to the next request, which is reading it, the tool call, the commits, and the way into the step.
 */
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';

/** Steps from `at` on whose samples are taken together. */
const WINDOWS = [
  { at: 1, steps: 1 },
  { at: 10, steps: 5 },
  { at: 100, steps: 10 },
  { at: 1_000, steps: 10 },
];

export interface OwnWorkOptions {
  /** Sessions that go on to step 1,050. */
  long: number;
  /** Sessions that are asked for their first step alone. */
  short: number;
}

export async function measureOwnWork(stand: Stand, { long, short }: OwnWorkOptions): Promise<Figure[]> {
  // What a worker does for the first time it does slowly, and no session pays for that twice.
  await runSession(stand, 'warm', 300);
  const firsts: number[] = [];
  for (let i = 0; i < short; i++) firsts.push(...(await runSession(stand, `short${i}`, 1)));
  const longest = Math.max(...WINDOWS.map(({ at, steps }) => at + steps));
  const runs: number[][] = [];
  for (let i = 0; i < long; i++) runs.push(await runSession(stand, `long${i}`, longest));
  return WINDOWS.map(({ at, steps }) => {
    const samples = runs.flatMap((run) => run.slice(at - 1, at - 1 + steps));
    return toFigure(`step_own_ms@${at}`, 'ms', at === 1 ? [...samples, ...firsts] : samples);
  });
}

/** Own work of each step in order. */
async function runSession({ perch }: Stand, name: string, calls: number): Promise<number[]> {
  const model = `calls-${calls}-own-${name}`;
  const session = await perch.open(`instant/${model}`);
  await perch.promptUnwatched(session, 'Look all of the services up.');
  const marks = await perch.marks(model);
  if (marks.length !== calls) throw new Error(`${marks.length} steps of ${calls} in ${name}`);
  return marks;
}
