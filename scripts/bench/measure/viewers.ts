/**
 * Many viewers of one session while an answer streams: nobody, all by server-sent events, all by sockets, in turn. Measured
 * is the time from the model's last piece until the last viewer has the turn's end, and the turn's own length in the log.
 */
import { z } from 'zod';
import { readReceived } from '../received.ts';
import type { Stand } from '../stand.ts';
import { type Figure, median, toFigure } from '../stats.ts';
import { type Viewer, type Way, watch } from '../viewer.ts';

const DELTAS = 300;
/** A fast model's pace. */
const PACE_MS = 10;
/** Viewers that connect at once. */
const BATCH = 20;

interface Round {
  /** The turn in the log; milliseconds. */
  turnMs: number;
  /** From the model's last piece; null where nobody watches. */
  lastFrameMs: number | null;
  repeated: number;
}

export async function measureViewers(stand: Stand, count: number, rounds: number): Promise<Figure[]> {
  const model = `deltas-${DELTAS}-every-${PACE_MS}-viewers`;
  const session = await stand.perch.open(`stand-in/${model}`);
  await runRound(stand, session, model, null, 0);
  const alone: Round[] = [];
  const watched: Record<Way, Round[]> = { sse: [], socket: [] };
  for (let round = 0; round < rounds; round++) {
    alone.push(await runRound(stand, session, model, null, 0));
    for (const way of ['sse', 'socket'] as const) {
      watched[way].push(await runRound(stand, session, model, way, count));
    }
  }
  const base = alone.map(({ turnMs }) => turnMs);
  return [
    toFigure('viewers_turn_ms@0', 'ms', base),
    ...(['sse', 'socket'] as const).flatMap((way) => [
      toFigure(`viewers_${way}_last_ms@${count}`, 'ms', collect(watched[way], 'lastFrameMs')),
      toFigure(
        `viewers_${way}_turn_ratio@${count}`,
        'ratio',
        collect(watched[way], 'turnMs').map((ms) => ms / median(base)),
      ),
      toFigure(`viewers_${way}_repeated@${count}`, 'chars', collect(watched[way], 'repeated')),
    ]),
  ];
}

function collect(rounds: readonly Round[], key: keyof Round): number[] {
  return rounds.flatMap((round) => round[key] ?? []);
}

async function runRound(
  stand: Stand,
  session: string,
  model: string,
  way: Way | null,
  count: number,
): Promise<Round> {
  const { perch } = stand;
  const after = (await perch.lastSeq(session)).toString();
  const viewers = way === null ? [] : await gather(stand, session, way, after, count);
  await stand.model.records(model);
  const ends = viewers.map((viewer) => viewer.until('turn/end'));
  await perch.promptUnwatched(session, 'Tell me all that there is to tell.');
  await Promise.all(ends);
  for (const viewer of viewers) viewer.leave();
  const [record] = await stand.model.records(model);
  if (!record) throw new Error('no request came');
  const { turnMs, text } = await readTurn(stand, session, Number(after));
  let repeated = 0;
  for (const viewer of viewers) {
    const received = readReceived(way ?? 'sse', viewer.text(), after);
    if (received.text !== text) throw new Error(`a viewer has another answer: ${received.text.slice(-200)}`);
    repeated += received.repeated;
  }
  const lastAt = Math.max(...viewers.map((viewer) => viewer.lastAt()));
  return { turnMs, lastFrameMs: way === null ? null : lastAt - record.ended, repeated };
}

async function gather(
  { perch: { url, headers } }: Stand,
  session: string,
  way: Way,
  after: string,
  count: number,
): Promise<Viewer[]> {
  const viewers: Viewer[] = [];
  while (viewers.length < count) {
    const coming = Array.from({ length: Math.min(BATCH, count - viewers.length) }, () =>
      watch(way, { url, headers, session, after }),
    );
    viewers.push(...(await Promise.all(coming)));
  }
  return viewers;
}

const answer = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});

async function readTurn({ perch }: Stand, session: string, after: number) {
  const events = await perch.events(session, after);
  const atOf = (type: string): number => events.find((event) => event.type === type)?.at ?? Number.NaN;
  const message = events.find(({ type }) => type === 'assistant/message');
  const text = answer
    .parse(message)
    .content.map((block) => block.text ?? '')
    .join('');
  return { turnMs: atOf('turn/end') - atOf('turn/start'), text };
}
