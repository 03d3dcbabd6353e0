/** One run: a scenario from its first operation until nothing is left to do, and what was wrong with it. */
import { createRandom } from '../support/random.ts';
import { checkSession } from './check-session.ts';
import { type Clients, createClients } from './clients.ts';
import type { Known } from './known.ts';
import type { Scenario } from './operations.ts';
import type { Problem } from './problems.ts';
import { createWorld, type World } from './world.ts';

export interface RunResult {
  problems: Problem[];
  operations: number;
  crashes: number;
  requests: number;
  events: number;
  forks: number;
  /** Fault points passed, by name. */
  points: Map<string, number>;
  /** The end of each session's log, and what the service reported, for people. */
  tail: string[];
}

/** Faults go on for this long after the last operation. */
const AFTER_MS = 20_000;
/** Far more than any scenario needs: what is not at rest by then never will be. */
const MOST_MS = 4 * 3_600_000;
const MOST_STEPS = 20_000;
/** A run that has gone so wrong is not looked at further. */
const MOST_PROBLEMS = 30;
const TAIL_EVENTS = 40;
const TAIL_CHARS = 240;

export async function runScenario(scenario: Scenario): Promise<RunResult> {
  const world = createWorld(scenario);
  const clients = createClients(world, scenario.agent);
  const unhandled = (error: unknown): void => {
    if (!(error instanceof Error) || error.name !== 'LifeEnded') {
      world.complain('wrong', `a rejection that nobody handles: ${describe(error)}`);
    }
  };
  process.on('unhandledRejection', unhandled);
  let exported: string[] = [];
  try {
    await play(world, clients, scenario);
    exported = await examine(world, clients.sessions, scenario);
    await erase(world, clients, scenario);
    checkReports(world);
  } catch (error) {
    world.complain('wrong', `the run broke: ${describe(error)}`);
  } finally {
    process.off('unhandledRejection', unhandled);
    world.close();
  }
  return summarise(world, clients, scenario, exported);
}

async function play(world: World, clients: Clients, { opening, operations }: Scenario): Promise<void> {
  const { clock } = world;
  let isOpen = false;
  clients.open(opening, () => {
    isOpen = true;
  });
  while (!isOpen && (await clock.step(Number.POSITIVE_INFINITY)));
  const start = clock.now();
  for (const operation of operations) {
    clock.after(operation.at, null, () => clients.run(operation));
  }
  const last = start + (operations.at(-1)?.at ?? 0);
  clock.after(last + AFTER_MS - clock.now(), null, () => {
    world.calm();
    clients.gather();
  });
  await settle(world, 'after its operations');
  clients.gather();
  clients.ask();
  await settle(world, 'after its last prompt');
}

async function settle(world: World, when: string): Promise<void> {
  const { clock, complain } = world;
  const until = clock.now() + MOST_MS;
  for (let steps = 0; await clock.step(until); steps++) {
    if (world.problems.length > MOST_PROBLEMS) throw new Error(`${when}: more is wrong than is worth a look`);
    if (steps < MOST_STEPS) continue;
    complain('stuck', `${when}: it does not come to rest in ${MOST_STEPS} steps`);
    return;
  }
  if (clock.nextAt() !== null) complain('stuck', `${when}: it does not come to rest in ${MOST_MS} ms`);
}

/** Each session as a client sees it, before and after its object was taken away; then its log. */
async function examine(world: World, sessions: readonly Known[], scenario: Scenario): Promise<string[]> {
  const logs: string[] = [];
  for (const known of sessions) {
    const before = await ask(world, known, async (object) => JSON.stringify(await object.view()));
    const exported = await exportSession(world, known);
    checkSession(world, known, scenario.agent, exported);
    known.host.crash();
    const after = await ask(world, known, async (object) => JSON.stringify(await object.view()));
    if (before !== after) world.complain('wrong', `${known.id}: ${before} is ${after} after a restart`);
    if (!world.directory.listed.has(known.id)) world.complain('lost', `${known.id} is not in the directory`);
    logs.push(exported);
  }
  for (const known of sessions) checkCopy(world, sessions, known, logs);
  return logs;
}

function exportSession(world: World, known: Known): Promise<string> {
  return ask(world, known, async (object) => {
    const outcome = await object.export(true);
    return outcome.ok ? readText(outcome.value) : JSON.stringify(outcome);
  });
}

/** A fork's log begins as its parent's, but for its first event. */
function checkCopy(
  world: World,
  sessions: readonly Known[],
  { id, parent }: Known,
  logs: readonly string[],
): void {
  if (!parent) return;
  const at = sessions.findIndex((other) => other.id === parent.session);
  const own = eventLines(logs[sessions.findIndex((other) => other.id === id)] ?? '');
  const theirs = eventLines(logs[at] ?? '');
  const differs = theirs.slice(1, parent.atSeq).findIndex((line, i) => own[i + 1] !== line);
  if (differs >= 0) world.complain('wrong', `${id}: event ${differs + 2} is not its parent's`);
}

/** Sessions go as they came: whatever happens in between, at the end nothing of them is left. */
async function erase(world: World, clients: Clients, { seed, agent }: Scenario): Promise<void> {
  const random = createRandom(seed ^ 0xe4a5);
  clients.ask();
  for (const known of clients.sessions) {
    // Nobody watches any more: their sockets went with the objects.
    known.viewers = [];
    if (random.next() < 0.5) continue;
    const roll = random.next();
    if (roll < 0.3) known.host.faults.atPoint(1 + random.below(12), { kind: 'crash' });
    else if (roll < 0.5)
      known.host.faults.atPoint(1 + random.below(12), { kind: 'hold', ms: random.pick([1, 3_000]) });
    else if (roll < 0.7) known.host.faults.crashAtWrite(1 + random.below(20));
    clients.erase(known, random.pick([0, 1, 40, 4_000]), random.next() < 0.5);
  }
  await settle(world, 'after its sessions are erased');
  for (const known of clients.sessions) {
    const isGone = known.host.disk.read('SELECT 1 FROM sqlite_master').length === 0;
    if (known.isErased || isGone) checkErased(world, known);
    // Nobody was told that it is erased, and it is not: then it is as it was.
    else if (known.isErasing) checkSession(world, known, agent, await exportSession(world, known));
  }
}

function checkErased(world: World, { id, host }: Known): void {
  const tables = host.disk
    .read("SELECT name FROM sqlite_master WHERE type = 'table'")
    .map(({ name }) => name);
  if (tables.length > 0) world.complain('wrong', `${id} is erased, and there is still ${tables.join()}`);
  if (host.disk.alarm() !== null) world.complain('wrong', `${id} is erased, and an alarm is left`);
  if (world.directory.listed.has(id)) world.complain('wrong', `${id} is erased and listed`);
}

/** What the service says of itself has to do with what was done to it. */
const EXPECTED_REPORTS =
  /injected fault|SQLITE_FULL|LifeEnded|cannot be reached|connection lost|ExperimentalWarning|trace-warnings/;

function checkReports({ reports, complain }: World): void {
  const unexpected = reports.find((line) => !EXPECTED_REPORTS.test(line));
  if (unexpected !== undefined) complain('wrong', `the service reports: ${unexpected.slice(0, 800)}`);
}

function eventLines(exported: string): string[] {
  return exported.split('\n').filter((line) => line.startsWith('{"seq"'));
}

/** As it was exported; of a run that broke off before, as its rows have it. */
function readLog({ host }: Known, exported: string | undefined): string[] {
  if (exported !== undefined) return eventLines(exported);
  if (host.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'events'").length === 0) return [];
  return host.disk
    .read('SELECT seq, data FROM events ORDER BY seq')
    .map(({ seq, data }) => `${seq}: ${String(data)}`);
}

async function ask(
  world: World,
  known: Known,
  work: (object: NonNullable<ReturnType<Known['host']['object']>>) => Promise<string>,
): Promise<string> {
  let answer: string | null = null;
  known.host.request(work, (reply) => {
    answer = reply.kind === 'answer' ? reply.value : describe('error' in reply ? reply.error : reply.kind);
  });
  while (answer === null && (await world.clock.step(Number.POSITIVE_INFINITY)));
  return answer ?? 'no answer';
}

function summarise(
  world: World,
  clients: Clients,
  scenario: Scenario,
  exported: readonly string[],
): RunResult {
  const points = new Map<string, number>();
  for (const host of world.hosts) {
    for (const [name, count] of host.faults.passed) points.set(name, (points.get(name) ?? 0) + count);
  }
  const tail = clients.sessions.flatMap((known, i) => [
    `--- ${known.id}`,
    ...readLog(known, exported[i])
      .slice(-TAIL_EVENTS)
      .map((line) => line.slice(0, TAIL_CHARS)),
  ]);
  return {
    problems: world.problems,
    operations: scenario.operations.length,
    crashes: world.crashes(),
    requests: world.requests(),
    events: exported.reduce((sum, log) => sum + eventLines(log).length, 0),
    forks: clients.sessions.length - 1,
    points,
    tail: [...tail, ...world.reports.slice(-8).map((line) => `report: ${line.slice(0, 600)}`)],
  };
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of stream) text += decoder.decode(piece, { stream: true });
  return text;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
