/** Prompt to first text, and the gap between two requests of a turn: Perch and the reference by turns. */
import type { Answer } from '../http-client.ts';
import type { Stand } from '../stand.ts';
import { type Figure, toFigure, toRatio } from '../stats.ts';

/** Prompts to one session before a new one is taken, so that both keep transcripts of the same, ordinary length. */
const PROMPTS_A_SESSION = 15;
const WARM_PROMPTS = 5;
/** Before each prompt: what the turn before it leaves to do is not in the way of the next. */
const PAUSE_MS = 15;
const CALLS_A_TURN = 10;
const TURNS_A_SESSION = 4;

type Ask = (text: string) => Promise<Answer>;

/** `prompts` for each of the two. */
export async function measureFirstText(stand: Stand, prompts: number): Promise<Figure[]> {
  const ours: number[] = [];
  const reference: number[] = [];
  const asked = { ours: [] as number[], reference: [] as number[] };
  for (let i = 0; ours.length < prompts; i++) {
    const pair = await openPair(stand, `calls-0-ttfb${i}`);
    for (let n = 0; n < WARM_PROMPTS + PROMPTS_A_SESSION; n++) {
      const isWarm = n >= WARM_PROMPTS;
      // By turns in which goes first, so that what one leaves behind does not always meet the other.
      const order = n % 2 === 0 ? pair : [...pair].reverse();
      for (const { name, model, ask } of order) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        const answer = await ask(`How is service ${n} doing?`);
        const [record] = await stand.model.records(model);
        if (!isWarm || !record) continue;
        (name === 'ours' ? ours : reference).push(toFirstText(answer));
        (name === 'ours' ? asked.ours : asked.reference).push(record.began - answer.sentAt);
      }
    }
  }
  return [
    toRatio('ttfb_ratio', ours, reference),
    toFigure('ttfb_ms', 'ms', ours),
    toFigure('ttfb_reference_ms', 'ms', reference),
    toRatio('request_ratio', asked.ours, asked.reference),
    toFigure('request_ms', 'ms', asked.ours),
    toFigure('request_reference_ms', 'ms', asked.reference),
  ];
}

/** `turns` of ten steps with a tool call for each of the two. */
export async function measureSteps(stand: Stand, turns: number): Promise<Figure[]> {
  const ours: number[] = [];
  const reference: number[] = [];
  for (let i = 0, done = 0; done < turns; i++) {
    const model = `calls-${CALLS_A_TURN}-step${i}`;
    const pair = await openPair(stand, model);
    for (let n = 0; n < TURNS_A_SESSION; n++) {
      for (const { name, model: asked, ask } of n % 2 === 0 ? pair : [...pair].reverse()) {
        await ask(`Look the ten services of group ${n} up.`);
        const gaps = await readGaps(stand, asked);
        // The first turn of a session loads what later ones have.
        if (n > 0) (name === 'ours' ? ours : reference).push(...gaps);
      }
      if (n > 0) done++;
    }
  }
  return [
    toRatio('step_ratio', ours, reference),
    toFigure('step_ms', 'ms', ours),
    toFigure('step_reference_ms', 'ms', reference),
  ];
}

async function openPair(
  { perch, reference }: Stand,
  model: string,
): Promise<{ name: 'ours' | 'reference'; model: string; ask: Ask }[]> {
  const session = await perch.open(`stand-in/${model}`);
  const theirs = `${model}-r`;
  return [
    { name: 'ours', model, ask: (text) => perch.prompt(session, text) },
    { name: 'reference', model: theirs, ask: (text) => reference.prompt(session, theirs, text) },
  ];
}

function toFirstText({ sentAt, firstTextAt, text }: Answer): number {
  if (firstTextAt === null) throw new Error(`no text came: ${text.slice(0, 500)}`);
  return firstTextAt - sentAt;
}

/** From the end of each answer to the arrival of the next request, body and all. */
async function readGaps({ model }: Stand, name: string): Promise<number[]> {
  const records = await model.records(name);
  if (records.length !== CALLS_A_TURN + 1) throw new Error(`${records.length} requests for ${name}`);
  return records.slice(1).map((record, i) => record.arrived - (records[i]?.ended ?? Number.NaN));
}
