/** What prompts and skills cost: rendering, a gesture's injection, a look at a prompt, reads of KV. */
import { render } from '../../../durable/prompt/render.ts';
import type { ResolvedSection } from '../../../durable/prompt/types.ts';
import type { Stand } from '../stand.ts';
import { type Figure, median, toFigure } from '../stats.ts';

const SECTIONS = 200;
const VARIABLES = 50;
const WARM_RUNS = 50;

/** The renderer alone, in this process: 200 sections that refer to 50 variables, 130 characters a section. */
export function measureRender(runs: number): Figure[] {
  const names = Array.from({ length: VARIABLES }, (_, i) => `variable_${i}`);
  const variables = Object.fromEntries(names.map((name, i) => [name, `value ${i}`]));
  const sections: ResolvedSection[] = Array.from({ length: SECTIONS }, (_, i) => ({
    name: `bench:section-${i}`,
    owner: 'bench',
    order: i % 7,
    text: `Section ${i} speaks of {{${names[i % VARIABLES]}}} and of {{${names[(i * 7) % VARIABLES]}}}. ${'word '.repeat(16)}`,
    verbatim: false,
  }));
  const samples: number[] = [];
  for (let run = 0; run < WARM_RUNS + runs; run++) {
    const begun = performance.now();
    render({ sections, variables });
    if (run >= WARM_RUNS) samples.push(performance.now() - begun);
  }
  return [toFigure('render_ms', 'ms', samples)];
}

/**
 * In turn in one session: a prompt with a gesture and one without, each until the model server sees its request. The
 * difference of the two is what an injection adds, the longer request included.
 */
export async function measurePrompts({ perch, model: server }: Stand, rounds: number): Promise<Figure[]> {
  const model = 'calls-0-prompts';
  const session = await perch.open(`stand-in/${model}`);
  const timeToRequest = async (text: string): Promise<number> => {
    await server.records(model);
    const { sentAt } = await perch.prompt(session, text);
    const [record] = await server.records(model);
    if (!record) throw new Error('no request came');
    return record.began - sentAt;
  };
  await timeToRequest('/release-notes to warm up');
  const readsBefore = await perch.kvReads();
  const bare: number[] = [];
  const gesture: number[] = [];
  const views: number[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(await timeToRequest('What changed in the service?'));
    gesture.push(await timeToRequest('/release-notes What changed in the service?'));
    views.push(await perch.viewPrompt(session));
  }
  const reads = (await perch.kvReads()) - readsBefore;
  const base = median(bare);
  return [
    toFigure(
      'inject_ms',
      'ms',
      gesture.map((ms) => ms - base),
    ),
    toFigure('prompt_view_ms', 'ms', views),
    toFigure('kv_reads_per_step', 'reads', [reads / (rounds * 2)]),
  ];
}
