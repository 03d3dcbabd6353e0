/** The world of one run: the objects of its sessions, and all that they reach. */
import { createRandom } from '../support/random.ts';
import { checkCommitted, readRest } from './check-commit.ts';
import type { RequestRecord } from './check-request.ts';
import { type Clock, createClock, type Life } from './clock.ts';
import { describeDeployment } from './deployment.ts';
import { createDirectory, type SimulatedDirectory } from './directory.ts';
import { installGlobals } from './globals.ts';
import { type ContextOfLife, createHost, type Host } from './host.ts';
import { loadSession, type SimulatedSession } from './load-session.ts';
import { LINE } from './models.ts';
import type { Scenario } from './operations.ts';
import type { Complain, Problem } from './problems.ts';
import { createProviderSide } from './provider-side.ts';
import { createSkillStore, type SkillStore } from './skills.ts';

export type SessionHost = Host<SimulatedSession>;

export interface World {
  clock: Clock;
  complain: Complain;
  problems: Problem[];
  hosts: SessionHost[];
  /** Makes the object that a new session will live in. */
  addHost: (name: string) => SessionHost;
  skills: SkillStore;
  directory: SimulatedDirectory;
  /** How often each call had its effect, by session and call. */
  effects: Map<string, number>;
  requestsOf: (host: SessionHost) => RequestRecord;
  /** Which faults a report of a failure may be of. */
  reports: string[];
  crashes: () => number;
  requests: () => number;
  setLaneDelay: (ms: number) => void;
  /** From here on nothing fails any more. */
  calm: () => void;
  isCalm: () => boolean;
  close: () => void;
}

/** The beginning of the simulation's time: a moment that has nothing to do with today. */
const START = Date.UTC(2031, 4, 6, 7, 8, 9);

export function createWorld(scenario: Scenario): World {
  const { seed } = scenario;
  const hosts: SessionHost[] = [];
  const problems: Problem[] = [];
  const effects = new Map<string, number>();
  const hostsOfContext = new WeakMap<ContextOfLife, SessionHost>();
  const random = createRandom(seed ^ 0x51ab);
  let crashes = 0;
  let laneDelay = 0;
  let isCalm = false;
  const clock = createClock(START, () => {
    for (const host of hosts) host.settle();
  });
  const complain: Complain = (kind, text) => {
    const at = Math.round(clock.now() - START);
    problems.push({ kind, text: `${at} ms: ${text}` });
  };
  const { reports, restore } = replaceGlobals(clock, random.next);
  const skills = createSkillStore(clock.now);
  const directory = createDirectory(clock.now);
  const provider = createProviderSide(clock, complain);
  skills.publish(0, 0);

  const hostOf = (life: Life): SessionHost => {
    const host = hosts.find(({ name }) => name === life.object);
    if (!host) throw new Error(`there is no object ${life.object}`);
    return host;
  };
  const reach = <T>(life: Life, ms: number, perform: () => T): Promise<T> =>
    hostOf(life).reach(life, ms, perform);
  const outside = (ms: number, perform: () => void): Promise<void> => {
    const life = clock.current();
    return life ? reach(life, ms, perform) : Promise.resolve();
  };
  const Session = loadSession(
    describeDeployment(
      seed,
      { perform: (_, ms, effect) => outside(ms + 1, effect), note: createNote(effects) },
      { wait: () => (laneDelay > 0 ? outside(laneDelay, () => undefined) : Promise.resolve()) },
    ),
    (context) => {
      const host = hostsOfContext.get(context);
      if (!host) throw new Error('a context of no object');
      return host.faults;
    },
  );
  const openEnv = (life: Life, host: SessionHost): Record<string, unknown> => ({
    DIRECTORIES: { idFromName: (name: string) => name, get: () => directory.openFor(life, reach) },
    SESSIONS: {
      idFromName: (name: string) => name,
      get: (name: string) => createStub(clock, host, life, () => hosts.find((other) => other.name === name)),
    },
    SKILLS: skills.openFor(life, reach),
    SKILLS_FRESH_MS: String(scenario.freshMs),
    [LINE]: provider.openFor(life, host),
  });
  const addHost = (name: string): SessionHost => {
    const host = createHost<SimulatedSession>(name, {
      clock,
      build(context, life, of) {
        hostsOfContext.set(context, of);
        return new Session(context, openEnv(life, of));
      },
      onCommit: (of) => checkCommitted(of, clock.now(), complain),
      onAlarm(of) {
        if (of.isUntouched() && readRest(of) === 'idle')
          complain('wrong', `${of.name}: an alarm wakes it for nothing`);
      },
      onCrash(of) {
        crashes++;
        if (of.disk.isEndless()) complain('stuck', `${of.name}: it goes round in a loop`);
      },
    });
    hosts.push(host);
    return host;
  };
  return {
    clock,
    complain,
    problems,
    hosts,
    addHost,
    skills,
    directory,
    effects,
    requestsOf: provider.recordOf,
    reports,
    crashes: () => crashes,
    requests: provider.requests,
    setLaneDelay(ms) {
      laneDelay = ms;
    },
    calm() {
      isCalm = true;
      provider.calm();
      laneDelay = 0;
      for (const host of hosts) host.faults.calm();
      skills.setDownUntil(0);
      skills.setDelay(2);
      directory.setDownUntil(0);
    },
    isCalm: () => isCalm,
    close: restore,
  };
}

/** Counts an effect of a call. */
function createNote(effects: Map<string, number>) {
  return (session: string, call: string): void => {
    const key = `${session} ${call}`;
    effects.set(key, (effects.get(key) ?? 0) + 1);
  };
}

/** What the service reports on its console is kept, to be looked at. */
function replaceGlobals(clock: Clock, random: () => number): { reports: string[]; restore: () => void } {
  const reports: string[] = [];
  const restore = installGlobals(clock, random, (line) => void reports.push(line));
  return { reports, restore };
}

/** Another object, called over the net. */
function createStub(
  clock: Clock,
  host: SessionHost,
  life: Life,
  find: () => SessionHost | undefined,
): unknown {
  const call = (method: string, given: unknown[]): Promise<unknown> => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    life.pending++;
    host.sendOut(life, () => {
      const to = find() ?? host;
      to.request(
        async (object) => Reflect.apply(Reflect.get(object, method), object, given) as Promise<unknown>,
        (reply) =>
          clock.after(0, life, () => {
            life.pending--;
            if (reply.kind === 'answer') resolve(reply.value);
            else reject(new Error('Network connection lost.'));
          }),
      );
    });
    return promise;
  };
  return new Proxy(
    {},
    {
      get:
        (_, method) =>
        (...given: unknown[]) =>
          call(String(method), given),
    },
  );
}
