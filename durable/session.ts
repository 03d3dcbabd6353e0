/**
 * The session object: RPC surface, alarm, sockets. It wires the parts of one session and decides nothing itself.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Deployment } from './composition.ts';
import { type Outcome, PerchError, sessionExists, sessionNotFound, toErrorData } from './errors.ts';
import { admitMessage } from './inbox/index.ts';
import {
  createDriver,
  type Driver,
  type Faults,
  type LoopPorts,
  NO_FAULTS,
  reportTurn,
} from './loop/index.ts';
import { checkRoute, createModelResolver, type ModelResolver, waitWithTimer } from './models/index.ts';
import { type AtStep, checkPersona, DEFAULT_CWD, describePrompt } from './prompt/index.ts';
import {
  type AdmitMessage,
  type CreateSession,
  type DirectoryRpc,
  type EventQuery,
  type IdempotencyClaim,
  type Receipt,
  type SessionRpc,
  type SessionView,
  sessionView,
} from './rpc.ts';
import { type SkillSource, skillSourceFor } from './skills/index.ts';
import {
  createSqlPort,
  isInitialised,
  migrate,
  readIdentity,
  type SqlPort,
  writeIdentity,
} from './storage/index.ts';
import { createSubscribers, type Subscribers } from './subscribers.ts';
import { exportLog, type MessageId, type UserMessage } from './transcript/index.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';
import { describeSession, openSession, type SessionParts, toLoopPorts } from './wiring.ts';

/** The bindings that a session needs; models read theirs by name from the same object. */
interface SessionEnv extends Record<string, unknown> {
  DIRECTORIES: { idFromName(name: string): DurableObjectId; get(id: DurableObjectId): DirectoryRpc };
  SKILLS: KVNamespace;
  SKILLS_FRESH_MS?: string;
}

/** How long a published release may go unseen where the deployment does not say. */
const SKILLS_FRESH_MS = 30_000;
/** The socket's close code when its session is erased: in the range that RFC 6455 leaves to applications. */
const ERASED = 4410;

interface Live {
  parts: SessionParts;
  ports: LoopPorts;
  driver: Driver;
  subscribers: Subscribers;
}

/** The class of a deployment's session objects. Tests put their own faults in. */
export function defineSession(deployment: Deployment, faults: Faults = NO_FAULTS) {
  return class Session extends DurableObject<SessionEnv> implements SessionRpc {
    readonly #sql: SqlPort;
    readonly #models: ModelResolver;
    readonly #skills: SkillSource;
    readonly #watchdog: Watchdog;
    #live: Live | null = null;

    constructor(ctx: DurableObjectState, env: SessionEnv) {
      super(ctx, env);
      this.#sql = createSqlPort(ctx.storage);
      this.#models = createModelResolver(deployment.providers, env);
      const freshMs = Number(env.SKILLS_FRESH_MS ?? SKILLS_FRESH_MS);
      this.#skills = skillSourceFor({ kv: env.SKILLS, freshMs, now: Date.now });
      this.#watchdog = createWatchdog(ctx.storage, Date.now);
      // One look says whether there is a session, and one row whether it was cut off in a turn.
      if (isInitialised(this.#sql)) {
        this.#live = this.#open();
        this.#wakeIfNeeded(this.#live);
        this.#tellUses(this.#live.parts);
      }
    }

    create(input: CreateSession): Promise<Outcome<SessionView>> {
      return this.#answer(async () => {
        const agent = deployment.agent(input.agent);
        if (input.model !== null) checkRoute(input.model, deployment.providers);
        const cwd = input.cwd ?? DEFAULT_CWD;
        if (input.persona !== null) {
          await checkPersona(
            deployment,
            agent,
            { ...input, agent: agent.name, cwd },
            await this.#skills.view({ tenant: input.tenant, session: input.id }),
          );
        }
        if (this.#live) {
          const first = this.#live.parts.receipts.find(input.idempotency, sessionView);
          if (first) return first;
          throw sessionExists('The id is taken.');
        }
        migrate(this.#sql);
        writeIdentity(this.#sql, input, agent.name, cwd, Date.now());
        const live = this.#open();
        this.#live = live;
        const { model, metadata, persona } = input;
        return live.parts.log.commit((append) => {
          append({ type: 'session/created', agent: agent.name, model, cwd, metadata, persona });
          const view = { ...describeSession(live.parts, false), last_seq: 1 };
          live.parts.receipts.keep(input.idempotency, view);
          this.#list(live);
          return view;
        });
      });
    }

    view(): Promise<Outcome<SessionView>> {
      return this.#answer(() => {
        const live = this.#opened();
        return describeSession(live.parts, live.driver.isRunning());
      });
    }

    admit(input: AdmitMessage): Promise<Outcome<Receipt>> {
      return this.#answer(async () => {
        const live = this.#opened();
        const { parts, ports } = live;
        const { provider, model } = ports.baseCall();
        const onlyText = input.content.every((block) => block.type === 'text');
        const accepts = onlyText ? () => true : (await this.#models(provider, model)).accepts;
        const receipt = admitMessage(
          {
            ...parts,
            session: parts.identity.id,
            accepts,
            model: `${provider}/${model}`,
            arm: this.#watchdog.arm,
          },
          input,
        );
        this.#wakeIfNeeded(live);
        if (!parts.state.read().listed) this.#list(live);
        return receipt;
      });
    }

    cancel(input: {
      by: string;
      clearInbox: boolean;
      idempotency: IdempotencyClaim | null;
    }): Promise<Outcome<SessionView>> {
      return this.#answer(() => {
        const { parts, driver } = this.#opened();
        const first = parts.receipts.find(input.idempotency, sessionView);
        if (first) return first;
        parts.log.commit((append) => {
          if (!input.clearInbox) return;
          const items = parts.inbox.all();
          parts.inbox.remove(items);
          for (const { message } of items)
            append({ type: 'inbox/discarded', message, cause: `cleared by ${input.by}` });
        });
        driver.cancel(input.by);
        const view = describeSession(parts, driver.isRunning());
        parts.receipts.keep(input.idempotency, view);
        return view;
      });
    }

    events(query: EventQuery): Promise<Outcome<string>> {
      return this.#answer(() => {
        const { events, next } = this.#opened().parts.log.page(query);
        return `{"data":[${events.join(',')}],"next":${next}}`;
      });
    }

    prompt(at: AtStep | null, since: AtStep | null): Promise<Outcome<string>> {
      return this.#answer(async () => {
        const { parts, ports } = this.#opened();
        const claimed: UserMessage[] = parts.inbox.peekForTurn().map(({ message }) => message);
        const skills = await ports.skills.view();
        return JSON.stringify(
          await describePrompt({ ...parts, call: ports.baseCall(), claimed, skills }, at, since),
        );
      });
    }

    export(withBlobs: boolean): Promise<Outcome<ReadableStream<Uint8Array>>> {
      return this.#answer(() => {
        const { log, blobs } = this.#opened().parts;
        return exportLog(log, withBlobs ? blobs.get : null);
      });
    }

    erase(): Promise<Outcome<null>> {
      return this.#answer(async () => {
        const live = this.#opened();
        // Nothing is admitted any more, so that no turn starts while the erasing waits.
        this.#live = null;
        try {
          live.parts.inbox.remove(live.parts.inbox.all());
          live.driver.cancel('erase');
          await live.driver.settled();
          const { directory, id } = live.parts.identity;
          await this.#directory(directory).remove(id);
        } catch (error) {
          this.#live = live;
          throw error;
        }
        live.subscribers.closeAll(ERASED, 'the session was erased');
        await this.ctx.storage.deleteAlarm();
        await this.ctx.storage.deleteAll();
        return null;
      });
    }

    override async fetch(request: Request): Promise<Response> {
      if (!this.#live) return new Response(null, { status: 404 });
      if (request.headers.get('Upgrade') !== 'websocket') return new Response(null, { status: 426 });
      return this.#live.subscribers.accept(request);
    }

    override async alarm(): Promise<void> {
      this.#watchdog.fired();
      if (!this.#live) return;
      // A turn in progress is guarded by the next alarm; one that was cut off went on when this object started.
      if (this.#live.driver.isRunning()) this.#watchdog.arm();
      else this.#wakeIfNeeded(this.#live);
    }

    override webSocketMessage(): void {
      // Sockets carry frames to clients; what clients say goes over HTTP.
    }

    override webSocketClose(socket: WebSocket): void {
      this.#live?.subscribers.forget(socket);
      socket.close();
    }

    #open(): Live {
      migrate(this.#sql);
      const identity = readIdentity(this.#sql);
      if (!identity) throw new Error('the session row is missing');
      const parts = openSession(this.#sql, identity, deployment, Date.now);
      const subscribers = createSubscribers(this.ctx, parts.log, parts.stream);
      parts.log.observe(subscribers.publishCommitted);
      const ports = toLoopPorts(parts, {
        deployment,
        models: this.#models,
        skills: this.#skills,
        now: Date.now,
        wait: waitWithTimer,
        random: Math.random,
        newMessageId: () => `inj_${crypto.randomUUID().replaceAll('-', '')}` as MessageId,
        faults,
        publish: subscribers.publish,
        watchdog: this.#watchdog,
        reportTurn: (summary) => {
          reportTurn(identity, summary);
          this.#tellUses(parts);
        },
        reportFailure: (error) => this.#reportFailure('loop', error),
      });
      return { parts, ports, subscribers, driver: createDriver(ports) };
    }

    #opened(): Live {
      if (!this.#live) throw sessionNotFound('No session of this id is yours.');
      return this.#live;
    }

    #wakeIfNeeded({ parts, driver }: Live): void {
      if (parts.turn() || parts.inbox.wakes()) this.ctx.waitUntil(driver.wake());
    }

    /** Tells the tenant's directory. A failure costs nothing but the listing, and the next message tries again. */
    #list({ parts }: Live): void {
      const { directory, id, agent, created_at, metadata } = parts.identity;
      const told = this.#directory(directory)
        .add({ id, agent, created_at, metadata })
        .then(() => {
          // The session may have been erased, and another made in its place.
          if (this.#live?.parts === parts) parts.state.write({ listed: true });
        })
        .catch((error: unknown) => this.#reportFailure('directory', error));
      this.ctx.waitUntil(told);
    }

    /** Tells the directory which skills were used. A failure costs nothing: it is told at the next turn's end. */
    #tellUses({ identity, uses }: SessionParts): void {
      const told = uses
        .tell((list) => this.#directory(identity.directory).recordUses(identity.id, list))
        .catch((error: unknown) => this.#reportFailure('skill uses', error));
      this.ctx.waitUntil(told);
    }

    #directory(name: string): DirectoryRpc {
      return this.env.DIRECTORIES.get(this.env.DIRECTORIES.idFromName(name));
    }

    #reportFailure(part: string, error: unknown): void {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      console.error(
        JSON.stringify({
          level: 'error',
          msg: `${part} failed`,
          session: this.#live?.parts.identity.id,
          detail,
        }),
      );
    }

    async #answer<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
      try {
        return { ok: true, value: await work() };
      } catch (error) {
        if (!(error instanceof PerchError)) this.#reportFailure('request', error);
        return { ok: false, error: toErrorData(error) };
      }
    }
  };
}
