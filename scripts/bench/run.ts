/**
 * `npm run bench`: the figures of docs/performance.md. It takes some two minutes and always exits with 0 once it has
 * measured. Options: `--json FILE`, `--quick`, `--only part,…`, `--profile FILE` (a CPU profile of the parts that run; the
 * figures are then those of a slower worker).
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureFirstText, measureSteps } from './measure/latency.ts';
import { measureOpening } from './measure/opening.ts';
import { measureOwnWork } from './measure/own-work.ts';
import { measurePrompts, measureRender } from './measure/prompts.ts';
import { measureRows } from './measure/rows.ts';
import { measureSize } from './measure/size.ts';
import { measureStartup } from './measure/startup.ts';
import { profileWorker } from './profile.ts';
import { formatReport } from './report.ts';
import { type Stand, withStand } from './stand.ts';
import type { Figure } from './stats.ts';

interface Scale {
  prompts: number;
  turns: number;
  long: number;
  short: number;
  rows: number;
  rounds: number;
  starts: number;
}

const FULL: Scale = { prompts: 450, turns: 45, long: 8, short: 100, rows: 10, rounds: 60, starts: 7 };
const QUICK: Scale = { prompts: 90, turns: 9, long: 2, short: 20, rows: 2, rounds: 8, starts: 1 };

/** What needs the service to run. */
const SERVED: Record<string, (stand: Stand, scale: Scale) => Promise<Figure[]>> = {
  ttfb: (stand, { prompts }) => measureFirstText(stand, prompts),
  step: (stand, { turns }) => measureSteps(stand, turns),
  own: (stand, { long, short }) => measureOwnWork(stand, { long, short }),
  rows: (stand, { rows }) => measureRows(stand, rows),
  open: (stand, { rounds }) => measureOpening(stand, rounds),
  prompts: (stand, { rounds }) => measurePrompts(stand, rounds),
};
const BUILT: Record<string, (scale: Scale) => Promise<Figure[]>> = {
  render: ({ rounds }) => Promise.resolve(measureRender(rounds * 10)),
  size: () => measureSize(),
  startup: ({ starts }) => measureStartup(starts),
};

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const scale = options.quick ? QUICK : FULL;
const parts = [...Object.keys(SERVED), ...Object.keys(BUILT)];
const wanted = options.only?.split(',') ?? parts;
const unknown = wanted.filter((part) => !parts.includes(part));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}; there are ${parts.join(', ')}`);

const figures = [...(await measureServed()), ...(await measureBuilt())];
console.log(`\n${formatReport(figures)}`);
if (options.json) await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);

async function measureServed(): Promise<Figure[]> {
  const selected = Object.entries(SERVED).filter(([part]) => wanted.includes(part));
  if (selected.length === 0) return [];
  const begun = performance.now();
  return withStand({ inspect: options.profile !== undefined }, async (stand) => {
    tellTime('start', begun);
    const found: Figure[] = [];
    const measure = async (): Promise<void> => {
      for (const [part, run] of selected) found.push(...(await tell(part, () => run(stand, scale))));
    };
    const { inspector } = stand.perchWorker;
    if (options.profile && inspector) await profileWorker(inspector, options.profile, measure);
    else await measure();
    return found;
  });
}

async function measureBuilt(): Promise<Figure[]> {
  const found: Figure[] = [];
  for (const [part, run] of Object.entries(BUILT)) {
    if (wanted.includes(part)) found.push(...(await tell(part, () => run(scale))));
  }
  return found;
}

async function tell<T>(part: string, run: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await run();
  tellTime(part, begun);
  return result;
}

function tellTime(part: string, begun: number): void {
  console.log(`${part} (${((performance.now() - begun) / 1_000).toFixed(1)} s)`);
}
