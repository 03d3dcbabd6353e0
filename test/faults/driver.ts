/**
 * Runs a scenario with one fault put into it: the n-th time that a named point is passed, the object is ended there,
 * held and then ended, made to throw, or delayed while somebody else gets in. Then it is brought back by its alarm with
 * nobody connected, perhaps ended once more on the way, and what is left is checked.
 */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { broken, type Finding, stuck } from '../../scripts/faults/history.ts';
import { clearFaults, planFaults } from '../support/faults.ts';
import { sessionStub } from '../support/perch.ts';
import { type Evidence, readAnswers, readRows, readStanding, type Standing } from './evidence.ts';
import { type Birth, observeBirths } from './lives.ts';
import { checkAcknowledged, PROMISES } from './promises.ts';
import { race } from './races.ts';
import type { Scenario } from './scenarios.ts';
import { isQuiet, openWorld, type World } from './world.ts';

export const MODES = ['abort', 'hang', 'throw', 'delay'] as const;
export type Mode = (typeof MODES)[number];

/** A place in the story: the n-th passing of a point, from 1. */
export interface Place {
  point: string;
  hit: number;
}

export interface Injection extends Place {
  mode: Mode;
  /** After how many points of the recovery the object is ended once more, and how. */
  second: { after: number; mode: 'abort' | 'hang' } | null;
}

export interface CaseResult {
  /** The points passed up to the fault, in order; the names of all that were passed. */
  trace: Place[];
  points: ReadonlySet<string>;
  /** Whether the story came to the place at all. */
  wasReached: boolean;
  kills: number;
  /** Where the second kill came, for the report. */
  secondPoint: string | null;
  /** From the run of the alarm to quiet, with nobody connected. */
  recoveryMs: number | null;
  findings: (Finding & { promise: string })[];
}

/** What the fault plan and the story tell each other. */
interface Fault {
  trace: Place[];
  points: Set<string>;
  fired: boolean;
  raced: boolean;
  secondPoint: string | null;
  /** Counts down the points of a recovery; null while none is to be ended. */
  countdown: number | null;
}

/** The reason's first words keep the test pool from printing each of a thousand ends. */
export const ENDED = 'Instance disposed of by a test';
const LOOK_MS = 1;
const PATIENCE_MS = 8_000;
/** Without a sign of life this long, the alarm is run as the platform would, later. */
const ALARM_MS = 60;
/** How long after its last work a session may still have an alarm: well before that would fire. */
const DISARM_MS = 1_500;
/** A viewer whose connection was lost comes back after a pause. */
const CATCH_UP_MS = 3_000;
/** How long an answer is waited for that a held object may never give. */
const HANDLER_MS = 500;
/** How long a delayed object waits at most for the other one to get in. */
const DELAY_MS = 150;

export async function runCase(scenario: Scenario, injection: Injection | null): Promise<CaseResult> {
  const births = observeBirths();
  const world = await openWorld(scenario.agent ?? 'keeper');
  const fault: Fault = {
    trace: [],
    points: new Set(),
    fired: false,
    raced: false,
    secondPoint: null,
    countdown: null,
  };
  const findings: CaseResult['findings'] = [];
  const note = (promise: string, found: readonly Finding[]): void => {
    for (const finding of found) findings.push({ promise, ...finding });
  };
  let kills = 0;
  let recoveryMs: number | null = null;
  try {
    await scenario.prepare?.(world);
    if (!scenario.createsItself) await world.create();
    plan(fault, injection, world);
    let acted = false;
    const act = scenario.act(world).finally(() => {
      acted = true;
    });
    const failed = act.then(
      () => null,
      (error: unknown) => String(error),
    );
    await waitFor(() => fault.fired || acted);
    if (acted && !fault.fired) await untilQuiet(world, { isEnough: () => fault.fired });
    if (fault.fired && injection) {
      if (injection.mode === 'delay') await race(world, injection.hit, () => (fault.raced = true));
      if (mayGetCompany(scenario, injection)) await meanwhile(world);
      if (injection.mode === 'abort' || injection.mode === 'hang') {
        const recovered = await recover(scenario, world, fault, injection);
        kills = recovered.kills;
        recoveryMs = recovered.ms;
        note('acknowledged once', recovered.findings);
      }
    }
    if (!(await waitFor(() => acted))) note('the story', [stuck('its client was never answered')]);
    const problem = await Promise.race([failed, scheduler.wait(0).then(() => null)]);
    if (problem) note('the story', [broken(problem)]);
    const restless = await untilQuiet(world, { mayBeArmed: injection?.mode === 'throw' });
    if (restless) note('alarm before work', [restless]);
    clearFaults();
    const evidences = await gather(world, births);
    for (const evidence of evidences) {
      for (const [promise, check] of Object.entries(PROMISES)) note(promise, check(evidence));
    }
    note('the story', judge(scenario, injection, evidences, world));
  } finally {
    clearFaults();
    world.connection.isAway = false;
    world.end();
  }
  const { trace, points, fired, secondPoint } = fault;
  return { trace, points, wasReached: fired, kills, secondPoint, recoveryMs, findings };
}

function plan(fault: Fault, injection: Injection | null, { connection }: World): void {
  const hits = new Map<string, number>();
  planFaults((point, ctx): void | Promise<void> => {
    const hit = (hits.get(point) ?? 0) + 1;
    hits.set(point, hit);
    fault.points.add(point);
    if (!fault.fired) {
      fault.trace.push({ point, hit });
      if (!injection || injection.point !== point || injection.hit !== hit) return;
      fault.fired = true;
      return strike(injection.mode, fault, ctx, connection);
    }
    if (fault.countdown === null || --fault.countdown > 0) return;
    fault.countdown = null;
    fault.secondPoint = point;
    return strike(injection?.second?.mode ?? 'abort', fault, ctx, connection);
  });
}

function strike(
  mode: Mode,
  fault: Fault,
  ctx: DurableObjectState | null,
  connection: World['connection'],
): void | Promise<void> {
  switch (mode) {
    case 'abort':
      connection.isAway = true;
      // Nothing of the object runs after this, not even the rest of this function.
      if (ctx) ctx.abort(ENDED);
      return new Promise(() => undefined);
    case 'hang':
      return new Promise(() => undefined);
    case 'throw':
      throw new Error('a fault of the harness, by a test');
    case 'delay':
      return waitFor(() => fault.raced, DELAY_MS).then(() => undefined);
  }
}

/** Where another message does not do for the held one what nobody would have done. */
function mayGetCompany({ createsItself = false }: Scenario, { mode, point, second }: Injection): boolean {
  return mode === 'hang' && second === null && !createsItself && !point.startsWith('admit.');
}

/** While the object is held, something else comes: a message, and somebody who watches. */
async function meanwhile({ client }: World): Promise<void> {
  const sent = client.send('and one more, meanwhile').catch(() => '');
  const watched = client.perch
    .request('GET', `/v1/sessions/${client.session}/events?after=0`)
    .then((response) => response.text())
    .catch(() => '');
  await Promise.race([Promise.all([sent, watched]), scheduler.wait(30)]);
}

interface Recovery {
  kills: number;
  ms: number;
  findings: Finding[];
}

/** Ends the object (a held one; the other kind is dead already) and lets it come back with nobody connected. */
async function recover(
  { isHeld = false }: Scenario,
  world: World,
  fault: Fault,
  { mode, second }: Injection,
): Promise<Recovery> {
  const { outside, connection } = world;
  connection.isAway = true;
  let kills = 1;
  if (mode === 'hang') await abortAllDurableObjects();
  outside.isHolding = false;
  await world.reconnect();
  if (second) {
    fault.countdown = second.after;
    await runAlarms(world);
    const isOver = async (): Promise<boolean> => fault.secondPoint !== null || (await isStill(world, isHeld));
    await waitFor(isOver, PATIENCE_MS);
    if (fault.secondPoint !== null) {
      kills++;
      if (second.mode === 'hang') await abortAllDurableObjects();
      outside.isHolding = false;
      await world.reconnect();
    }
    fault.countdown = null;
  }
  const began = Date.now();
  await runAlarms(world);
  const restless = await untilQuiet(world, { isEnough: () => isHeld && outside.isHolding });
  const ms = Date.now() - began;
  const findings = restless ? [{ ...restless, detail: `with nobody connected: ${restless.detail}` }] : [];
  if (!restless && !outside.isHolding) findings.push(...(await checkAlone(world)));
  connection.isAway = false;
  return { kills, ms, findings };
}

/** What had been acknowledged before the kill is terminal before anybody comes back. */
async function checkAlone(world: World): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { client, outside } of world.parties) {
    const rest = { births: [], live: null, fresh: null, ownAfter: 0 };
    findings.push(
      ...checkAcknowledged({ ...(await readRows(client)), ledger: client.ledger, outside, ...rest }),
    );
  }
  return findings;
}

/** The platform's part: the stored alarms, where there are. Whether one was stored in time, the births tell. */
async function runAlarms({ parties }: World): Promise<void> {
  for (const { client } of parties) {
    const ran = runDurableObjectAlarm(sessionStub(client.perch, client.session)).catch(
      () => 'the object was ended on the way',
    );
    // A handler may be held at a point, too.
    await Promise.race([ran, scheduler.wait(HANDLER_MS)]);
  }
}

async function isStill(world: World, isHeld: boolean): Promise<boolean> {
  if (isHeld && world.outside.isHolding) return true;
  return (await standings(world)).every(isQuiet);
}

/** Of objects that may be ended, or held, at any moment. */
function standings({ parties }: World): Promise<Standing[]> {
  const unknown: Standing = { work: 'no answer', alarm: null };
  return Promise.all(
    parties.map(({ client }) =>
      Promise.race([
        readStanding(client).catch(() => unknown),
        scheduler.wait(HANDLER_MS).then(() => unknown),
      ]),
    ),
  );
}

/**
 * Polls until the session is idle; runs its alarm where nothing else moves it. What is wrong where it never is: it is
 * stuck, or it is idle and still has an alarm. `mayBeArmed`: a harness that failed leaves one, which finds nothing.
 */
async function untilQuiet(
  world: World,
  { isEnough = () => false, mayBeArmed = false }: { isEnough?: () => boolean; mayBeArmed?: boolean } = {},
): Promise<Finding | null> {
  const until = Date.now() + PATIENCE_MS;
  let alarmAt = Date.now() + ALARM_MS;
  let armedAt: number | null = null;
  while (Date.now() < until) {
    if (isEnough()) return null;
    const now = await standings(world);
    if (now.every(isQuiet)) return null;
    const hasWork = now.some(({ work }) => work !== null);
    if (Date.now() > alarmAt && (hasWork || mayBeArmed)) {
      await runAlarms(world);
      alarmAt = Date.now() + ALARM_MS;
    }
    armedAt = hasWork ? null : (armedAt ?? Date.now());
    if (armedAt !== null && Date.now() - armedAt > DISARM_MS) return broken('idle, and an alarm is left');
    await scheduler.wait(LOOK_MS);
  }
  return stuck(await describe(world));
}

async function waitFor(isTrue: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<boolean> {
  const until = Date.now() + patienceMs;
  while (!(await isTrue())) {
    if (Date.now() >= until) return false;
    await scheduler.wait(LOOK_MS);
  }
  return true;
}

async function describe(world: World): Promise<string> {
  const now = await standings(world);
  return now
    .map(({ work, alarm }) => `${work ?? 'idle'}, ${alarm === null ? 'no alarm' : 'an alarm is stored'}`)
    .join('; ');
}

async function gather(
  { parties, client: { session }, viewers }: World,
  births: readonly Birth[],
): Promise<Evidence[]> {
  const gathered: Evidence[] = [];
  for (const { client, outside } of parties) {
    const rows = await readRows(client);
    const last = rows.rows?.events.at(-1)?.seq ?? 0;
    if (client.session === session) {
      await waitFor(() => viewers.every((viewer) => viewer.lastSeq() >= last), CATCH_UP_MS);
    }
    const ownAfter = rows.rows?.parent?.at_seq ?? 0;
    const live = await readAnswers(client);
    gathered.push({ ...rows, ledger: client.ledger, outside, births, live, fresh: null, ownAfter });
  }
  await abortAllDurableObjects();
  for (const [i, { client }] of parties.entries()) {
    const evidence = gathered[i];
    if (evidence) evidence.fresh = await readAnswers(client);
  }
  return gathered;
}

/** The scenario's own word, where nothing but kills came between, and the ways in which turns may end. */
function judge(
  scenario: Scenario,
  injection: Injection | null,
  evidences: readonly Evidence[],
  { viewers }: World,
): Finding[] {
  const findings = viewers.flatMap((viewer) =>
    viewer.findings.map((finding) => broken(`a viewer: ${finding}`)),
  );
  const last = evidences[0]?.rows?.events.at(-1)?.seq ?? 0;
  for (const [i, viewer] of viewers.entries()) {
    if (viewer.lastSeq() !== last)
      findings.push(broken(`viewer ${i} saw events up to ${viewer.lastSeq()} of ${last}`));
  }
  const wasDisturbed = injection?.mode === 'throw' || injection?.mode === 'delay';
  if (wasDisturbed) return findings;
  const allowed = ['completed', ...(scenario.ends ?? [])];
  for (const event of evidences.flatMap(({ rows }) => rows?.events ?? [])) {
    if (event.type === 'turn/end' && !allowed.includes(event.reason.kind)) {
      findings.push(broken(`turn ${event.turn} ended with ${JSON.stringify(event.reason)}`));
    }
  }
  const [own, child] = evidences;
  return [...findings, ...(own ? (scenario.judge?.(own, child) ?? []) : []).map(broken)];
}
