/** Rows written: by a step with one tool call, and by a turn whose answer is long. */
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';

const FEW = 2;
const MORE = 12;

/**
 * Of a step: two turns that differ by some steps, and what lies between them. The model streams over the network, as it would: rows of a streaming answer are
 * among those counted.
 */
export async function measureRows({ perch }: Stand, samples: number): Promise<Figure[]> {
  const rows: number[] = [];
  for (let i = 0; i < samples; i++) {
    const few = await countTurn(perch, FEW, i);
    const more = await countTurn(perch, MORE, i);
    rows.push((more - few) / (MORE - FEW));
  }
  return [toFigure('rows_per_step', 'rows', rows)];
}

const LONG_DELTAS = 2_000;
/** Milliseconds from one piece to the next: a fast model's, and none. */
const PACES = [2, 0];

/** All rows of a turn with one long answer and one viewer, by the pace at which the answer comes. */
export async function measureLongAnswer({ perch }: Stand, samples: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const pace of PACES) {
    const rows: number[] = [];
    for (let i = 0; i < samples; i++) {
      const session = await perch.open(`stand-in/deltas-${LONG_DELTAS}-every-${pace}-rows${i}`);
      rows.push(await countPrompts(perch, session));
    }
    figures.push(toFigure(`rows_${LONG_DELTAS}@${pace}ms`, 'rows', rows));
  }
  return figures;
}

async function countTurn(perch: Stand['perch'], calls: number, i: number): Promise<number> {
  return countPrompts(perch, await perch.open(`stand-in/calls-${calls}-rows${i}`));
}

async function countPrompts(perch: Stand['perch'], session: string): Promise<number> {
  // A turn first, so that the header and the catalog are there.
  await perch.prompt(session, 'Look the services up.');
  const before = await perch.rows(session);
  await perch.prompt(session, 'And once more.');
  const after = await perch.rows(session);
  return after.rows + after.alarms - before.rows - before.alarms;
}
