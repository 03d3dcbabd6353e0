/**
 * Re-runs a recorded session in this process: today's deployment and loop, and from the recording the messages, the
 * answers of models and tools, the clock. What came from outside is offered at the place where it came then.
 */
import { DatabaseSync } from 'node:sqlite';
import { type Deployment, resolveDeployment } from '../../durable/composition.ts';
import { createModelResolver, type ModelEnv, type ModelResolver } from '../../durable/models/index.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { CreateSession } from '../../durable/rpc.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import type { SqlPort } from '../../durable/storage/index.ts';
import { exportLog, type LogEvent, type MessageId, type TurnState } from '../../durable/transcript/index.ts';
import type { Outside } from '../../durable/wiring.ts';
import { type LocalSession, openLocalSession } from '../local/local-session.ts';
import { createSqlitePort } from '../local/sqlite-port.ts';
import { applyInput } from './apply-input.ts';
import type { RecordedSession } from './recorded-session.ts';
import { createRecordedSources, type StepPlace } from './recorded-sources.ts';
import { createRecordedTools, type RecordedTools } from './recorded-tools.ts';
import { createReplayModels } from './replay-models.ts';
import { type Input, planReplay } from './schedule.ts';
import { createScript, type Script } from './script.ts';
import { seedSession } from './seed-session.ts';
import { createRealClock, createVirtualClock, type ReplayClock } from './virtual-clock.ts';

export interface RunOptions {
  session: RecordedSession;
  /** The session's id here: an export does not say it. */
  id: string;
  deployment: DeploymentDefinition;
  skills: SkillView;
  /** The last event that is taken over as it is; 1 re-runs everything. */
  from: number;
  /** In the place of the session's own, where given. */
  model: string | null;
  persona: string | null;
  /** Models are really asked, with what `env` holds for them. */
  live: boolean;
  /** Tools really run. */
  liveTools: boolean;
  env: ModelEnv;
}

export interface RunResult {
  events: LogEvent[];
  /** A header's text. */
  readText: (digest: string) => string;
  /** The log with its bytes, as a session is exported. */
  exported: string;
  /** What was not as a replay has it: an input that came to nothing, a failure of the loop. */
  notes: string[];
}

/** Throws what the deployment fails with: `unknown_agent`, a registration that is not valid. */
export async function runSession(options: RunOptions): Promise<RunResult> {
  const db = new DatabaseSync(':memory:');
  try {
    const run = new Run(options, db);
    await run.toTheEnd();
    return await run.result();
  } finally {
    db.close();
  }
}

/** The session in memory, from its opening to a restart. */
interface Life {
  local: LocalSession;
  isOver: boolean;
  /** Resolves when it is. */
  over: Promise<void>;
  end: () => void;
}

class Run {
  readonly #options: RunOptions;
  readonly #db: DatabaseSync;
  readonly #sql: SqlPort;
  readonly #script: Script;
  readonly #clock: ReplayClock;
  readonly #deployment: Deployment;
  readonly #models: ModelResolver;
  readonly #tools: RecordedTools;
  readonly #create: CreateSession & { agent: string };
  readonly #notes: string[] = [];
  #life: Life;
  #injected = 0;

  constructor(options: RunOptions, db: DatabaseSync) {
    const { session, from, live } = options;
    this.#options = options;
    this.#db = db;
    this.#sql = createSqlitePort(db);
    this.#clock = (live ? createRealClock : createVirtualClock)(session.created.at);
    const schedule = planReplay(session);
    const isAhead = ({ seq }: { seq: number }): boolean => seq > from;
    // What really runs is not interrupted because the recording was.
    const isWanted = ({ kind }: Input): boolean => kind !== 'restart' || !(live || options.liveTools);
    const inputs = schedule.inputs.filter((input) => isAhead(input) && isWanted(input));
    this.#script = createScript({ ...schedule, inputs });
    for (const event of session.events) if (!isAhead(event)) this.#note(event);
    const turn = (): TurnState | null => this.#life.local.ports.turn();
    const onStopped = (stopped: number): void => this.#stop(stopped);
    this.#tools = createRecordedTools(session.events.filter(isAhead), {
      inputOf: (call) => turn()?.calls.find(({ block }) => block.id === call)?.block.input,
      onStopped,
      sourced: createRecordedSources(session, () => placeOf(turn())),
    });
    this.#deployment = resolveDeployment(
      options.liveTools ? options.deployment : this.#tools.bind(options.deployment),
    );
    this.#models = live
      ? createModelResolver(this.#deployment.providers, options.env)
      : createReplayModels(session, { turn, onStopped });
    const { name } = this.#deployment.agent(session.created.agent);
    this.#create = describeSession(options, name, schedule.inputs);
    seedSession(this.#sql, session, this.#create, from);
    this.#life = this.#open();
  }

  async toTheEnd(): Promise<void> {
    for (;;) {
      if (this.#life.isOver) this.#life = this.#open();
      const life = this.#life;
      this.#offer(life, null);
      if (life.isOver) continue;
      const { parts, driver } = life.local;
      if (parts.turn() || parts.inbox.wakes()) {
        const before = parts.log.lastSeq();
        await this.#clock.settle(Promise.race([driver.wake(), life.over]));
        if (life.isOver || parts.log.lastSeq() > before) continue;
        throw new Error(this.#notes.at(-1) ?? 'the session does not go on');
      }
      // Nothing will bring its place about any more: it comes now, so that nothing that was said is left out.
      const next = this.#script.takeNext();
      if (!next) return;
      this.#apply(life, next);
    }
  }

  async result(): Promise<RunResult> {
    const { log, blobs } = this.#life.local.parts;
    const events = log.read(1, log.lastSeq());
    const texts = new Map<string, string>();
    for (const event of events) {
      if (event.type !== 'request/header') continue;
      const { system, tools } = event.header;
      for (const { digest } of [system, tools]) texts.set(digest, blobs.getText(digest));
    }
    const exported = await new Response(exportLog(log, blobs.get)).text();
    return { events, readText: (digest) => texts.get(digest) ?? '', exported, notes: this.#notes };
  }

  #open(): Life {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const opened: { life: Life | null } = { life: null };
    const local = openLocalSession(
      this.#db,
      this.#create,
      this.#outside((point) => this.#pass(opened.life, point)),
    );
    const life: Life = {
      local,
      isOver: false,
      over,
      end() {
        life.isOver = true;
        resolve();
      },
    };
    opened.life = life;
    local.parts.log.observe((committed) => {
      for (const { event } of committed) this.#note(event);
    });
    return life;
  }

  #outside(hit: Outside['faults']['hit']): Outside {
    const clock = this.#clock;
    return {
      deployment: this.#deployment,
      models: this.#models,
      skills: { view: async () => this.#options.skills },
      now: clock.now,
      wait: clock.wait,
      random: () => 0,
      newMessageId: () => `injected_${++this.#injected}` as MessageId,
      faults: { hit },
      publish: clock.touch,
      watchdog: { arm: () => undefined, disarm: () => undefined, armAt: () => undefined },
      env: {},
      reportTurn: () => undefined,
      reportFailure: (error) => {
        this.#notes.push(`the loop failed: ${error instanceof Error ? error.message : String(error)}`);
      },
    };
  }

  /** At each point of the loop: what is due comes now. A life that is over goes nowhere any more. */
  #pass(life: Life | null, point: string): Promise<void> | undefined {
    this.#clock.touch();
    if (!life) return undefined;
    if (!life.isOver) this.#offer(life, point);
    if (!life.isOver && point === 'tool.started') this.#stopAtStart(life);
    return life.isOver ? new Promise<void>(() => undefined) : undefined;
  }

  #offer(life: Life, point: string | null): void {
    while (!life.isOver) {
      const { ports } = life.local;
      const openTurn = ports.turn()?.turn ?? null;
      const next = this.#script.takeDue({ point, openTurn, isEmpty: ports.inbox.count() === 0 });
      if (!next) return;
      this.#apply(life, next);
    }
  }

  /** Calls that were stopped before they began. */
  #stopAtStart(life: Life): void {
    const { local } = life;
    const turn = local.ports.turn();
    if (!turn) return;
    const tools = local.parts.plan().tools.map(({ definition }) => definition);
    const running = turn.calls.filter(({ started, settled }) => started && !settled);
    const isStopped = running.some(({ block }) =>
      this.#tools.isStoppedAtStart({ turn: turn.turn, step: turn.step, call: block.id }, block, tools),
    );
    const cancel = isStopped ? this.#script.takeCancelAlone(turn.turn) : null;
    if (cancel) this.#apply(life, cancel);
  }

  /** The moment of a cancel that stopped work. What came before it comes first, at its place or where nothing else happens. */
  #stop(turn: number): void {
    const life = this.#life;
    if (!this.#script.releaseCancel(turn)) return;
    this.#offer(life, null);
    void this.#clock.wait(0).done.then(() => {
      for (const input of this.#script.takeCancel(turn)) if (!life.isOver) this.#apply(life, input);
    });
  }

  #apply(life: Life, input: Input): void {
    const { session, model } = this.#options;
    // A model that was given stays, whatever the recording changes to.
    if (input.kind === 'model' && model !== null) return;
    this.#clock.reach(input.at);
    const ports = { local: life.local, sql: this.#sql, blobs: session.blobs, now: this.#clock.now };
    const outcome = applyInput(ports, input);
    if (outcome === 'restart') life.end();
    if (outcome === 'missed' && 'turn' in input) {
      this.#notes.push(`turn ${input.turn} was over before it could be stopped as it was`);
    }
  }

  #note(event: LogEvent): void {
    this.#clock.reach(this.#script.note(event));
  }
}

function describeSession(
  { session, id, model, persona, from }: RunOptions,
  agent: string,
  inputs: readonly Input[],
): CreateSession & { agent: string } {
  const { created } = session;
  const changed = inputs.findLast((input) => input.kind === 'model' && input.seq <= from);
  const own = changed?.kind === 'model' ? changed.model : created.model;
  return {
    tenant: 'replay',
    directory: 'replay',
    id,
    agent,
    model: model ?? own,
    cwd: created.cwd,
    metadata: created.metadata,
    persona: persona ?? created.persona,
    tools: created.tools ?? null,
    idempotency: null,
  };
}

/** The step that is open, or the one that is being prepared. */
function placeOf(state: TurnState | null): StepPlace {
  if (!state) return { turn: 1, step: 1 };
  return { turn: state.turn, step: state.stepOpen ? state.step : state.step + 1 };
}
