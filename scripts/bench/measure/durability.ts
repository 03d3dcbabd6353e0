/**
 * What durability costs: one loop, with its rooms on disk as the session has them, and with the same rooms in memory. By
 * turns, in one worker, over the same model server, nobody listening. Measured is the gap that the model server sees
 * from the end of an answer to the whole next request. On disk it holds the rows, the events' JSON, the watchdog's alarm, and
 * the platform's own rule that a request leaves only when what was written before it is on disk.
 */
import type { Rooms } from '../perch-client.ts';
import type { Stand } from '../stand.ts';
import { type Figure, toFigure, toRatio } from '../stats.ts';

const CALLS_A_TURN = 10;
const TURNS_A_RUN = 5;

interface Gaps {
  /** From an answer with a tool call to the next step's request. */
  step: number[];
  /** From a turn's last answer to the first request of the turn that waited behind it. */
  turn: number[];
}

export async function measureDurability(stand: Stand, runs: number): Promise<Figure[]> {
  const gaps: Record<Rooms, Gaps> = { disk: { step: [], turn: [] }, memory: { step: [], turn: [] } };
  for (let run = 0; run < runs; run++) {
    const order: Rooms[] = run % 2 === 0 ? ['disk', 'memory'] : ['memory', 'disk'];
    for (const rooms of order) await runOnce(stand, rooms, run, gaps[rooms]);
  }
  const { disk, memory } = gaps;
  return [
    toRatio('durability_ratio', disk.step, memory.step),
    toFigure('durability_step_ms', 'ms', disk.step),
    toFigure('durability_step_memory_ms', 'ms', memory.step),
    toRatio('durability_turn_ratio', disk.turn, memory.turn),
    toFigure('durability_turn_ms', 'ms', disk.turn),
    toFigure('durability_turn_memory_ms', 'ms', memory.turn),
  ];
}

/** The first turn of a run loads what the others have: its gaps are left out. */
async function runOnce({ perch, model }: Stand, rooms: Rooms, run: number, into: Gaps): Promise<void> {
  const name = `calls-${CALLS_A_TURN}-${rooms}${run}`;
  await perch.runLoop({ rooms, model: `stand-in/${name}`, turns: TURNS_A_RUN });
  const records = await model.records(name);
  const requests = CALLS_A_TURN + 1;
  if (records.length !== TURNS_A_RUN * requests) throw new Error(`${records.length} requests for ${name}`);
  for (const [i, record] of records.entries()) {
    const before = records[i - 1];
    if (before === undefined || i < requests) continue;
    (i % requests === 0 ? into.turn : into.step).push(record.arrived - before.ended);
  }
}
