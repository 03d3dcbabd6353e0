/** Rows that a step with one tool call writes: two turns that differ by some steps, and what lies between them. */
import type { Stand } from '../stand.ts';
import { type Figure, toFigure } from '../stats.ts';

const FEW = 2;
const MORE = 12;

/** The model streams over the network, as it would: rows of a streaming answer are among those counted. */
export async function measureRows({ perch }: Stand, samples: number): Promise<Figure[]> {
  const rows: number[] = [];
  for (let i = 0; i < samples; i++) {
    const few = await countTurn(perch, FEW, i);
    const more = await countTurn(perch, MORE, i);
    rows.push((more - few) / (MORE - FEW));
  }
  return [toFigure('rows_per_step', 'rows', rows)];
}

async function countTurn(perch: Stand['perch'], calls: number, i: number): Promise<number> {
  const session = await perch.open(`stand-in/calls-${calls}-rows${i}`);
  // A turn first, so that the header and the catalog are there.
  await perch.prompt(session, 'Look the services up.');
  const before = await perch.rows(session);
  await perch.prompt(session, 'And once more.');
  const after = await perch.rows(session);
  return after.rows + after.alarms - before.rows - before.alarms;
}
