/** Many sessions at once: each is opened, then each takes a prompt, over as many connections as the client has. */
import { MOST_CONNECTIONS } from '../http-client.ts';
import { readMemory, watchMemory } from '../memory.ts';
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';

const MODEL = 'calls-0-many';
/** What a process does for the first time it does slowly. */
const WARM_PROMPTS = 20;
const MS_PER_S = 1_000;

export async function measureSessions(stand: Stand, count: number): Promise<Figure[]> {
  const { perch, perchWorker } = stand;
  if (perchWorker.inspector === null) {
    // A process that has done nothing else: its memory is that of these sessions.
    await perchWorker.kill();
    await perchWorker.restart();
  }
  for (let i = 0; i < WARM_PROMPTS; i++) await perch.prompt(await perch.open(`stand-in/${MODEL}`), 'Hello.');
  const before = await readMemory(perchWorker.pid());
  const sessions = await timeAll(Array.from({ length: count }), () => perch.open(`stand-in/${MODEL}`));
  const { result: turns, most } = await watchMemory(perchWorker.pid(), () =>
    timeAll(sessions.results, (session) => perch.prompt(session, 'How is the service doing?')),
  );
  await stand.model.records(MODEL);
  const memory = (name: string, mb: number | null): Figure[] =>
    mb === null ? [] : [toFigure(name, 'MB', [mb])];
  return [
    toFigure(`sessions_${count}_opened_per_s`, '1/s', [(count * MS_PER_S) / sessions.totalMs]),
    toFigure(`sessions_${count}_prompts_per_s`, '1/s', [(count * MS_PER_S) / turns.totalMs]),
    toFigure(`sessions_${count}_turn_ms`, 'ms', turns.samples),
    ...memory(`sessions_${count}_memory_before_mb`, before),
    ...memory(`sessions_${count}_memory_mb`, most),
  ];
}

interface Timed<T> {
  results: T[];
  /** Milliseconds of each, in the order in which they were done. */
  samples: number[];
  totalMs: number;
}

/** Some at a time. */
async function timeAll<In, Out>(list: readonly In[], work: (item: In) => Promise<Out>): Promise<Timed<Out>> {
  const results: Out[] = [];
  const samples: number[] = [];
  const begun = performance.now();
  const rest = list.values();
  const takeTurns = async (): Promise<void> => {
    for (const item of rest) {
      const since = performance.now();
      results.push(await work(item));
      samples.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: MOST_CONNECTIONS }, takeTurns));
  return { results, samples, totalMs: performance.now() - begun };
}
