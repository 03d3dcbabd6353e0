/**
 * Kills the runtime itself (SIGKILL) under load, again and again, and starts it on its disk. Then the sessions' logs
 * are read: what was acknowledged is there once, everything came to an end, no effect happened twice.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unstable_readConfig } from 'wrangler';
import { auditSession } from '../../durable/audit/index.ts';
import { bundleWorker } from '../bench/bundle.ts';
import { keyEntry } from '../bench/perch-client.ts';
import { withTemporaryFolder } from '../bench/temporary-folder.ts';
import { type RunningWorker, startWorker } from '../bench/workerd.ts';
import {
  checkAttempts,
  checkCalls,
  checkMessages,
  checkTranscript,
  checkTurns,
  eventsOf,
  type Finding,
  stuck,
} from './history.ts';
import { createLoadClient, type LoadClient, type LoadedSession } from './load.ts';
import { type OutsideServer, startOutsideServer } from './outside-server.ts';
import { formatTimes } from './tally.ts';

export interface ProcessOptions {
  /** How often the runtime is killed. */
  rounds: number;
  sessions: number;
  log: (line: string) => void;
}

export interface ProcessReport {
  rounds: number;
  sessions: number;
  prompts: number;
  effects: number;
  /** Requests that clients sent again. */
  repeats: number;
  /** From the restart's listening to the first sign of a session that nobody had connected to. */
  recoveryMs: number[];
  findings: (Finding & { session: string })[];
}

/** How many of the sessions nobody connects to once their prompts are in. */
const UNTOUCHED_SHARE = 0.2;
/** Under load before each kill, and after each restart: the watchdog's 3 s and some. */
const LOAD_MS = 700;
const RECOVERY_MS = 3_800;
const DOWN_MS = 50;
/** Calls in a turn of a session with a client; for each kill, in the one turn of a session without. */
const CALLS = 2;
const CALLS_A_ROUND = 45;
/** Without a new event in any log this long, what is not idle never will be. */
const STILL_MS = 20_000;
/** Between two prompts of a client. */
const PAUSE_MS = 300;

export function runProcessTest(options: ProcessOptions): Promise<ProcessReport> {
  return withTemporaryFolder(async (folder) => {
    const outside = await startOutsideServer();
    let worker: RunningWorker | null = null;
    try {
      worker = await startService(folder, outside);
      return await runUnderLoad(options, worker, outside);
    } finally {
      await worker?.stop();
      await outside.stop();
    }
  });
}

async function startService(folder: string, outside: OutsideServer): Promise<RunningWorker> {
  const { compatibility_date: compatibilityDate } = unstable_readConfig({ config: 'wrangler.toml' });
  if (!compatibilityDate) throw new Error('wrangler.toml has no compatibility_date');
  const [module, kv] = await Promise.all([
    bundleWorker('service', { into: folder, compatibilityDate, from: 'scripts/faults/workers' }),
    bundleWorker('kv', { into: folder, compatibilityDate }),
  ]);
  const { key, value } = keyEntry();
  return startWorker(
    {
      name: 'service',
      module,
      compatibilityDate,
      objects: { SESSIONS: 'Session', DIRECTORIES: 'Directory' },
      vars: { MODEL_SERVER: outside.baseUrl, OBJECT_NAME_SECRET: 'names need one, tests have none to keep' },
      kv: {
        bindings: ['KEYS', 'SKILLS'],
        module: kv,
        entries: { [key]: new TextEncoder().encode(JSON.stringify(value)) },
      },
    },
    join(folder, 'run'),
    false,
  );
}

async function runUnderLoad(
  { rounds, sessions: count, log }: ProcessOptions,
  worker: RunningWorker,
  outside: OutsideServer,
): Promise<ProcessReport> {
  const client = createLoadClient(worker.url);
  const untouchedCount = Math.max(1, Math.round(count * UNTOUCHED_SHARE));
  const untouched = await openAll(client, untouchedCount, rounds * CALLS_A_ROUND, 'alone');
  const busy = await openAll(client, count - untouchedCount, CALLS, 'busy');
  for (const session of untouched) await client.prompt(session, 'A long piece of work.', false);
  let isOver = false;
  const clients = busy.map((session, i) => keepBusy(client, session, i, () => isOver));
  const recoveryMs: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await sleep(LOAD_MS);
    await worker.kill();
    await sleep(DOWN_MS);
    const listening = await worker.restart();
    await sleep(RECOVERY_MS);
    const times = untouched.flatMap(({ model }) => {
      const first = outside.asked(model).find((at) => at >= listening);
      return first === undefined ? [] : [first - listening];
    });
    recoveryMs.push(...times);
    log(
      `kill ${round}: ${times.length} of ${untouched.length} untouched sessions went on, ${formatTimes(times)}`,
    );
  }
  isOver = true;
  await Promise.all(clients);
  const all = [...untouched, ...busy];
  const findings = await check(client, all, outside);
  return {
    rounds,
    sessions: all.length,
    prompts: all.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
    effects: all.reduce((sum, { id }) => sum + outside.effects(id).length, 0),
    repeats: client.repeats(),
    recoveryMs,
    findings,
  };
}

function openAll(client: LoadClient, count: number, calls: number, name: string): Promise<LoadedSession[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => client.open(`${name}-${i}`, calls)));
}

/** Prompts without end, every third one followed as a stream. */
async function keepBusy(
  client: LoadClient,
  session: LoadedSession,
  i: number,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    await client.prompt(session, `Prompt ${n} of ${session.model}.`, (n + i) % 3 === 0);
    await sleep(PAUSE_MS + ((n * 137 + i * 101) % PAUSE_MS));
  }
}

/** Waits until all are idle, as long as anything moves; those that are not. */
async function drain(
  client: LoadClient,
  sessions: readonly LoadedSession[],
): Promise<ReadonlySet<LoadedSession>> {
  let seen = -1;
  let movedAt = Date.now();
  for (;;) {
    const views = await Promise.all(sessions.map((session) => client.view(session)));
    const busy = sessions.filter((_, i) => !(views[i]?.isIdle ?? false));
    const total = views.reduce((sum, { lastSeq }) => sum + lastSeq, 0);
    if (total !== seen) movedAt = Date.now();
    seen = total;
    if (busy.length === 0 || Date.now() - movedAt > STILL_MS) return new Set(busy);
    await sleep(100);
  }
}

async function check(
  client: LoadClient,
  sessions: readonly LoadedSession[],
  outside: OutsideServer,
): Promise<ProcessReport['findings']> {
  const findings: ProcessReport['findings'] = [];
  const busy = await drain(client, sessions);
  for (const session of sessions) {
    const note = (found: readonly Finding[]): void => {
      findings.push(...found.map((finding) => ({ session: session.model, ...finding })));
    };
    if (busy.has(session)) note([stuck('it stands still and is not idle')]);
    const exported = await client.export(session);
    const { events } = exported;
    const odd = eventsOf(events)('turn/end').filter(({ reason }) => reason.kind !== 'completed');
    note(checkMessages(events, session.acknowledged, []));
    note(checkTurns(events));
    note(checkAttempts(events, outside.asked(session.model).length));
    note(checkCalls(events, outside.effects(session.id), () => false));
    note(checkTranscript(events));
    note(
      auditSession(exported).findings.map(({ seq, problem }) => ({
        kind: 'broken',
        detail: `${seq}: ${problem}`,
      })),
    );
    note(
      odd.map(({ turn, reason }) => ({ kind: 'broken', detail: `turn ${turn}: ${JSON.stringify(reason)}` })),
    );
  }
  return findings;
}

export function formatProcessReport(report: ProcessReport): string {
  const { rounds, sessions, prompts, effects, repeats, recoveryMs, findings } = report;
  const count = (wanted: Finding['kind']): number => findings.filter(({ kind }) => kind === wanted).length;
  return [
    ...findings.map(({ session, kind, detail }) => `${session}: ${kind}: ${detail}`),
    `recovery with nobody connected: ${formatTimes(recoveryMs)}`,
    `processes killed ${rounds}, sessions ${sessions}, prompts acknowledged ${prompts}, effects ${effects}, ` +
      `requests repeated ${repeats}, lost ${count('lost')}, doubled ${count('doubled')}, stuck ${count('stuck')}`,
  ].join('\n');
}
