/**
 * `npm run bench`: the figures of docs/performance.md. It takes some minutes and always exits with 0 once it has
 * measured. Options: `--json FILE`, `--quick`, `--only part,…`, `--profile FILE` (a CPU profile of the parts that run, but
 * for the one that kills the worker; the figures are then those of a slower worker).
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureDurability } from './measure/durability.ts';
import { measureFirstText, measureSteps } from './measure/latency.ts';
import { measureOpening } from './measure/opening.ts';
import { measureOwnWork } from './measure/own-work.ts';
import { measurePrompts, measureRender } from './measure/prompts.ts';
import { measureRecovery } from './measure/recovery.ts';
import { measureResume } from './measure/resume.ts';
import { measureLongAnswer, measureRows } from './measure/rows.ts';
import { measureSessions } from './measure/sessions.ts';
import { measureSize } from './measure/size.ts';
import { measureStartup } from './measure/startup.ts';
import { measureViewers } from './measure/viewers.ts';
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
  runs: number;
  viewers: number;
  watched: number;
  resumes: number;
  answers: number;
  sessions: number;
  kills: number;
}

const FULL: Scale = {
  prompts: 450,
  turns: 45,
  long: 8,
  short: 100,
  rows: 10,
  rounds: 60,
  starts: 7,
  runs: 12,
  viewers: 200,
  watched: 5,
  resumes: 20,
  answers: 3,
  sessions: 1_000,
  kills: 10,
};
const QUICK: Scale = {
  prompts: 90,
  turns: 9,
  long: 2,
  short: 20,
  rows: 2,
  rounds: 8,
  starts: 1,
  runs: 3,
  viewers: 20,
  watched: 1,
  resumes: 3,
  answers: 1,
  sessions: 100,
  kills: 2,
};

/** What needs the service to run. */
const SERVED: Record<string, (stand: Stand, scale: Scale) => Promise<Figure[]>> = {
  ttfb: (stand, { prompts }) => measureFirstText(stand, prompts),
  step: (stand, { turns }) => measureSteps(stand, turns),
  own: (stand, { long, short }) => measureOwnWork(stand, { long, short }),
  rows: (stand, { rows }) => measureRows(stand, rows),
  open: (stand, { rounds }) => measureOpening(stand, rounds),
  prompts: (stand, { rounds }) => measurePrompts(stand, rounds),
  durability: (stand, { runs }) => measureDurability(stand, runs),
  resume: (stand, { resumes }) => measureResume(stand, resumes),
  long: (stand, { answers }) => measureLongAnswer(stand, answers),
  sessions: (stand, { sessions }) => measureSessions(stand, sessions),
  viewers: (stand, { viewers, watched }) => measureViewers(stand, viewers, watched),
  recovery: (stand, { kills }) => measureRecovery(stand, kills),
};
/** A profile does not outlive its process. */
const KILLING_PART = 'recovery';
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
  const isLeftOut = (part: string): boolean => options.profile !== undefined && part === KILLING_PART;
  const selected = Object.entries(SERVED).filter(([part]) => wanted.includes(part) && !isLeftOut(part));
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
