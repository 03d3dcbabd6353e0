/**
 * The session object: RPC surface, alarm, sockets. It wires the parts of one session and decides nothing itself; what
 * a request does stands in `operations/`.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Deployment } from './composition.ts';
import { type Outcome, PerchError, toErrorData } from './errors.ts';
import type { ForkSource, Lender } from './fork/index.ts';
import { createDriver, type Faults, NO_FAULTS, reportTurn } from './loop/index.ts';
import { createModelResolver, waitWithTimer } from './models/index.ts';
import {
  admit,
  answerAlarm,
  cancelTurn,
  createSession,
  decideApproval,
  deleteFile,
  discardMessages,
  enter,
  eraseSession,
  exportSession,
  forkSession,
  getFile,
  type Host,
  importFiles,
  type Live,
  lend,
  listApprovals,
  listFiles,
  listQueued,
  putFile,
  readEvents,
  readPrompt,
  repairSession,
  resetSession,
  tellUses,
  viewSession,
} from './operations/index.ts';
import type { AtStep } from './prompt/index.ts';
import type {
  AdmitMessage,
  ApprovalView,
  CancelTurn,
  CreateSession,
  DecideApproval,
  DirectoryRpc,
  EventQuery,
  ForkSession,
  IdempotencyClaim,
  QueuedMessage,
  Receipt,
  RepairReport,
  SessionRpc,
  SessionView,
} from './rpc.ts';
import { skillSourceFor } from './skills/index.ts';
import { createSqlPort, readIdentity } from './storage/index.ts';
import { createSubscribers } from './subscribers/index.ts';
import type { MessageId } from './transcript/index.ts';
import { createWatchdog } from './watchdog.ts';
import { openSession, toLoopPorts } from './wiring.ts';
import type { FilesRpc } from './workspace/requests.ts';

/** The bindings that a session needs; models read theirs by name from the same object. */
interface SessionEnv extends Record<string, unknown> {
  DIRECTORIES: { idFromName(name: string): DurableObjectId; get(id: DurableObjectId): DirectoryRpc };
  SESSIONS: { idFromName(name: string): DurableObjectId; get(id: DurableObjectId): ForkSource };
  SKILLS: KVNamespace;
  SKILLS_FRESH_MS?: string;
}

/** How long a published release may go unseen where the deployment does not say. */
const SKILLS_FRESH_MS = 30_000;

/** Who asks, and the key under which the answer is kept. */
interface Command {
  by: string;
  idempotency: IdempotencyClaim | null;
}

/** The class of a deployment's session objects. Tests put their own faults in. */
export function defineSession(
  deployment: Deployment,
  faultsOf: (ctx: DurableObjectState) => Faults = () => NO_FAULTS,
) {
  return class Session extends DurableObject<SessionEnv> implements SessionRpc {
    readonly #host: Host;

    constructor(ctx: DurableObjectState, env: SessionEnv) {
      super(ctx, env);
      const freshMs = Number(env.SKILLS_FRESH_MS ?? SKILLS_FRESH_MS);
      this.#host = {
        deployment,
        sql: createSqlPort(ctx.storage),
        storage: ctx.storage,
        models: createModelResolver(deployment.providers, env),
        skills: skillSourceFor({ kv: env.SKILLS, freshMs, now: Date.now }),
        watchdog: createWatchdog(ctx.storage, Date.now),
        faults: faultsOf(ctx),
        now: () => Date.now(),
        directory: (name) => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(name)),
        session: (name) => env.SESSIONS.get(env.SESSIONS.idFromName(name)),
        background: (work) => ctx.waitUntil(work),
        openLive: () => this.#openLive(),
        closeSockets: (code, reason) => {
          for (const socket of ctx.getWebSockets()) socket.close(code, reason);
        },
        reportFailure: (part, error) => this.#reportFailure(part, error),
        restart: (reason) => ctx.abort(reason),
        presence: { kind: 'absent' },
        listing: null,
      };
      enter(this.#host);
    }

    create(input: CreateSession): Promise<Outcome<SessionView>> {
      return this.#answer(() => createSession(this.#host, input));
    }

    fork(input: ForkSession): Promise<Outcome<SessionView>> {
      return this.#answer(() => forkSession(this.#host, input));
    }

    forkPoint(...ask: Parameters<Lender['forkPoint']>): ReturnType<ForkSource['forkPoint']> {
      return this.#answer(() => lend(this.#host).forkPoint(...ask));
    }

    forkRows(...ask: Parameters<Lender['forkRows']>): ReturnType<ForkSource['forkRows']> {
      return this.#answer(() => lend(this.#host).forkRows(...ask));
    }

    forkBlobs(...ask: Parameters<Lender['forkBlobs']>): ReturnType<ForkSource['forkBlobs']> {
      return this.#answer(() => lend(this.#host).forkBlobs(...ask));
    }

    forkMessages(...ask: Parameters<Lender['forkMessages']>): ReturnType<ForkSource['forkMessages']> {
      return this.#answer(() => lend(this.#host).forkMessages(...ask));
    }

    view(): Promise<Outcome<SessionView>> {
      return this.#answer(() => viewSession(this.#host));
    }

    admit(input: AdmitMessage): Promise<Outcome<Receipt>> {
      return this.#answer(() => admit(this.#host, input));
    }

    cancel(input: CancelTurn): Promise<Outcome<SessionView>> {
      return this.#answer(() => cancelTurn(this.#host, input));
    }

    queued(): Promise<Outcome<QueuedMessage[]>> {
      return this.#answer(() => listQueued(this.#host));
    }

    approvals(): Promise<Outcome<ApprovalView[]>> {
      return this.#answer(() => listApprovals(this.#host));
    }

    decide(input: DecideApproval): Promise<Outcome<ApprovalView>> {
      return this.#answer(() => decideApproval(this.#host, input));
    }

    listFiles(...ask: Parameters<FilesRpc['listFiles']>): ReturnType<FilesRpc['listFiles']> {
      return this.#answer(() => listFiles(this.#host, ...ask));
    }

    getFile(...ask: Parameters<FilesRpc['getFile']>): ReturnType<FilesRpc['getFile']> {
      return this.#answer(() => getFile(this.#host, ...ask));
    }

    putFile(...ask: Parameters<FilesRpc['putFile']>): ReturnType<FilesRpc['putFile']> {
      return this.#answer(() => putFile(this.#host, ...ask));
    }

    deleteFile(...ask: Parameters<FilesRpc['deleteFile']>): ReturnType<FilesRpc['deleteFile']> {
      return this.#answer(() => deleteFile(this.#host, ...ask));
    }

    importFiles(...ask: Parameters<FilesRpc['importFiles']>): ReturnType<FilesRpc['importFiles']> {
      return this.#answer(() => importFiles(this.#host, ...ask));
    }

    discard(input: { by: string; message: string | null }): Promise<Outcome<SessionView>> {
      return this.#answer(() => discardMessages(this.#host, input));
    }

    reset(input: Command): Promise<Outcome<SessionView>> {
      return this.#answer(() => resetSession(this.#host, input));
    }

    repair(input: Command): Promise<Outcome<RepairReport>> {
      return this.#answer(() => repairSession(this.#host, input));
    }

    events(query: EventQuery): Promise<Outcome<string>> {
      return this.#answer(() => readEvents(this.#host, query));
    }

    prompt(at: AtStep | null, since: AtStep | null): Promise<Outcome<string>> {
      return this.#answer(() => readPrompt(this.#host, at, since));
    }

    export(withBlobs: boolean): Promise<Outcome<ReadableStream<Uint8Array>>> {
      return this.#answer(() => exportSession(this.#host, withBlobs));
    }

    erase(): Promise<Outcome<null>> {
      return this.#answer(() => eraseSession(this.#host));
    }

    override async fetch(request: Request): Promise<Response> {
      const live = this.#live();
      const isDamaged = this.#host.presence.kind === 'damaged';
      if (!live) return new Response(null, { status: isDamaged ? 500 : 404 });
      if (request.headers.get('Upgrade') !== 'websocket') return new Response(null, { status: 426 });
      return live.subscribers.accept(request);
    }

    override alarm(): Promise<void> {
      return answerAlarm(this.#host);
    }

    override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
      await this.#live()?.subscribers.receive(socket, message);
    }

    override webSocketClose(socket: WebSocket): void {
      this.#live()?.subscribers.forget(socket);
      socket.close();
    }

    override webSocketError(socket: WebSocket): void {
      this.#live()?.subscribers.forget(socket);
    }

    #live(): Live | null {
      const { presence } = this.#host;
      return presence.kind === 'live' ? presence.live : null;
    }

    /** The parts over the rows as they are. Throws where they cannot be read. */
    #openLive(): Live {
      const host = this.#host;
      const identity = readIdentity(host.sql);
      if (!identity) throw new Error('the session row is missing');
      const parts = openSession(host.sql, identity, deployment, Date.now);
      const subscribers = createSubscribers({
        ...parts,
        sockets: this.ctx,
        cancel: (input) => this.cancel(input),
        now: Date.now,
      });
      parts.log.observe(subscribers.publishCommitted);
      const ports = toLoopPorts(parts, {
        deployment,
        models: host.models,
        skills: host.skills,
        now: Date.now,
        wait: waitWithTimer,
        env: this.env,
        random: Math.random,
        newMessageId: () => `inj_${crypto.randomUUID().replaceAll('-', '')}` as MessageId,
        faults: host.faults,
        publish: subscribers.publish,
        watchdog: {
          arm: host.watchdog.arm,
          // From its first commit on, an erasing is what the alarm guards, whatever turn ends meanwhile.
          disarm: () => {
            if (host.presence.kind !== 'erasing') host.watchdog.disarm();
          },
          armAt: (time) => {
            if (host.presence.kind !== 'erasing') host.watchdog.armAt(time);
          },
        },
        reportTurn: (summary) => {
          reportTurn(identity, summary);
          tellUses(host, parts);
        },
        reportFailure: (error) => host.reportFailure('loop', error),
      });
      return { parts, ports, subscribers, driver: createDriver(ports) };
    }

    #reportFailure(part: string, error: unknown): void {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const session = this.#live()?.parts.identity.id;
      console.error(JSON.stringify({ level: 'error', msg: `${part} failed`, session, detail }));
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
