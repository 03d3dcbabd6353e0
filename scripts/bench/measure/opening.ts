/**
 * Opening a session: its object is ended, then a prompt is sent; measured is the time until the model server sees the
 * first byte of the request. The isolate is warm; the object, its database connection and all that it remembers are new.
 */
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';

const SIZES = [10, 1_000, 100_000];
const WARM_ROUNDS = 2;

export async function measureOpening(stand: Stand, rounds: number): Promise<Figure[]> {
  const sessions = [];
  for (const size of SIZES) sessions.push({ size, ...(await seedSession(stand, size)) });
  const samples = new Map(SIZES.map((size) => [size, [] as number[]]));
  const warm: number[] = [];
  for (let round = 0; round < WARM_ROUNDS + rounds; round++) {
    for (const { size, session, model } of sessions) {
      await stand.perch.evict(session);
      const cold = await timeToRequest(stand, session, model);
      const again = await timeToRequest(stand, session, model);
      if (round < WARM_ROUNDS) continue;
      samples.get(size)?.push(cold);
      warm.push(again);
    }
  }
  return [
    ...SIZES.map((size) => toFigure(`open_ms@${size}`, 'ms', samples.get(size) ?? [])),
    toFigure('prompt_to_request_ms', 'ms', warm),
  ];
}

async function seedSession({ perch }: Stand, size: number): Promise<{ session: string; model: string }> {
  const model = `calls-0-open${size}`;
  const session = await perch.open(`stand-in/${model}`);
  await perch.prompt(session, 'What happened this morning?');
  await perch.seed(session, size);
  await perch.evict(session);
  return { session, model };
}

async function timeToRequest(
  { perch, model: server }: Stand,
  session: string,
  model: string,
): Promise<number> {
  await server.records(model);
  const { sentAt } = await perch.prompt(session, 'And now?');
  const [record] = await server.records(model);
  if (!record) throw new Error('no request came');
  return record.began - sentAt;
}
