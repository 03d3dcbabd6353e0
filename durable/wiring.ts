/** Puts one session's parts together: storage, transcript, inbox, prompt, models and skills, as the loop's ports. */
import type { Deployment } from './composition.ts';
import { createInbox, createReceipts, type Inbox, type Receipts } from './inbox/index.ts';
import {
  addSpend,
  createHeaders,
  createPromptCache,
  type Faults,
  type LoopPorts,
  resolveLimits,
  type SessionLimits,
  spendOfTurn,
} from './loop/index.ts';
import { type ModelResolver, parseRoute, type Wait } from './models/index.ts';
import { type PromptPlan, planPrompt, type SessionFacts } from './prompt/index.ts';
import type { SessionView } from './rpc.ts';
import { createSkillUses, type SkillUses } from './skill-uses.ts';
import type { SkillReader, SkillSource } from './skills/types.ts';
import {
  type Blobs,
  createBlobs,
  type Identity,
  readState,
  type SessionState,
  type SqlPort,
  writeState,
} from './storage/index.ts';
import {
  type Committed,
  createInvokedSkills,
  createLog,
  createStreamBuffer,
  createSurface,
  foldTurn,
  type Log,
  openTurn,
  type StreamBuffer,
  type Surface,
  type TurnState,
} from './transcript/index.ts';

import { createWorkspace, type Workspace } from './workspace/index.ts';

export interface Outside {
  deployment: Deployment;
  models: ModelResolver;
  skills: SkillSource;
  now: () => number;
  wait: Wait;
  /** The worker's bindings: keys of the services that tools use. */
  env: Readonly<Record<string, unknown>>;
  /** From 0 to 1, as `Math.random`. */
  random: () => number;
  newMessageId: LoopPorts['newMessageId'];
  faults: Faults;
  publish: LoopPorts['publish'];
  watchdog: LoopPorts['watchdog'];
  reportTurn: LoopPorts['reportTurn'];
  reportFailure: LoopPorts['reportFailure'];
}

/** A session's own parts, which do not know the network. */
export interface SessionParts {
  identity: Identity;
  facts: SessionFacts;
  log: Log;
  surface: Surface;
  stream: StreamBuffer;
  inbox: Inbox;
  receipts: Receipts;
  blobs: Blobs;
  workspace: Workspace;
  state: LoopPorts['state'];
  plan: () => PromptPlan;
  /** Which skills its turns used, as far as the directory does not know it. */
  uses: SkillUses;
  /** A source's views for this session. */
  readSkills: (source: SkillSource) => SkillReader;
  turn: () => TurnState | null;
  rowsOfTurn: () => number;
  /** None where the agent is gone from the deployment: its turns end with that. */
  budgets: () => SessionLimits;
  now: () => number;
}

/** `isSealed`: for reading a session whose open turn cannot be read; the turn is left alone and the parts run nothing. */
export function openSession(
  sql: SqlPort,
  identity: Identity,
  deployment: Deployment,
  now: () => number,
  isSealed = false,
): SessionParts {
  const blobs = createBlobs(sql);
  const log = createLog(sql, blobs, now);
  const state = createStateRow(sql, log);
  const openTurnSeq = isSealed ? 0 : state.read().openTurnSeq;
  let plan: PromptPlan | null = null;
  const { id, agent, cwd, metadata, persona } = identity;
  return {
    identity,
    facts: { id, agent, cwd, metadata },
    log,
    surface: createSurface(sql, log),
    stream: createStreamBuffer(sql, log, now),
    inbox: createInbox(sql, log),
    receipts: createReceipts(sql, now),
    blobs,
    workspace: createWorkspace(sql, cwd, now),
    state,
    plan: () => {
      plan ??= planPrompt(deployment, deployment.agent(agent), persona, identity.tools);
      return plan;
    },
    uses: createSkillUses(sql, log, () => (isSealed ? { ...state.read(), openTurnSeq } : state.read())),
    readSkills: (source) => ({ view: () => source.view({ tenant: identity.tenant, session: id }) }),
    turn: followTurn(log, openTurnSeq),
    rowsOfTurn: countRows(sql, log),
    budgets: () => resolveLimits(deployment.agents.find(({ name }) => name === agent)?.budgets),
    now,
  };
}

export function toLoopPorts(parts: SessionParts, outside: Outside): LoopPorts {
  const { identity, log, surface, inbox, blobs, stream, state, plan, turn } = parts;
  const { deployment } = outside;
  return {
    session: parts.facts,
    plan,
    baseCall: () => {
      const agent = deployment.agent(identity.agent);
      return { ...parseRoute(identity.model ?? agent.model), options: agent.options ?? {} };
    },
    limits: deployment,
    budgets: parts.budgets,
    priceOf: deployment.priceOf,
    rowsOfTurn: parts.rowsOfTurn,
    log,
    surface,
    inbox,
    blobs,
    stream,
    headers: createHeaders(log, state.read),
    prompts: createPromptCache(surface, blobs.get),
    state,
    turn,
    models: outside.models,
    skills: parts.readSkills(outside.skills),
    invokedSkills: createInvokedSkills(log),
    guards: () => plan().layer.guards.map(({ definition }) => definition),
    workspace: parts.workspace,
    env: outside.env,
    now: outside.now,
    wait: outside.wait,
    random: outside.random,
    newMessageId: outside.newMessageId,
    publish: outside.publish,
    watchdog: outside.watchdog,
    reportTurn: outside.reportTurn,
    reportFailure: outside.reportFailure,
    faults: outside.faults,
  };
}

/** The state row, in memory too. */
function createStateRow(sql: SqlPort, log: Log): LoopPorts['state'] {
  let current: SessionState = readState(sql);
  log.observe(
    () => undefined,
    () => {
      current = readState(sql);
    },
  );
  return {
    read: () => current,
    write(change) {
      const next = { ...current, ...change };
      writeState(sql, next);
      current = next;
    },
  };
}

/** The open turn's state: from the log at first, then kept by each commit. */
function followTurn(log: Log, openTurnSeq: number): () => TurnState | null {
  let state: TurnState | null = null;
  if (openTurnSeq > 0) {
    for (const event of log.read(openTurnSeq, log.lastSeq())) state = foldTurn(state ?? openTurn(0), event);
  }
  log.observe((committed: Committed[]) => {
    for (const { event } of committed) {
      if (event.type === 'turn/start') state = foldTurn(openTurn(event.turn), event);
      else if (state) state = foldTurn(state, event);
      if (state?.ended) state = null;
    }
  });
  return () => state;
}

/** Counts from each turn's first commit, itself included. */
function countRows(sql: SqlPort, log: Log): () => number {
  let before = sql.rowsWritten();
  let at = before;
  log.observe((committed) => {
    if (committed.some(({ event }) => event.type === 'turn/start')) before = at;
    at = sql.rowsWritten();
  });
  return () => sql.rowsWritten() - before;
}

export function describeSession(parts: SessionParts, isRunning: boolean): SessionView {
  const { identity, log, inbox, turn } = parts;
  const { turns, usage, spent } = parts.state.read();
  const { id, agent, model, cwd, metadata, created_at, parent } = identity;
  const open = turn();
  const spentNow = open && spendOfTurn(open, parts.now());
  return {
    id,
    agent,
    model,
    cwd,
    metadata,
    created_at,
    status: isRunning || open !== null ? 'running' : 'idle',
    turns,
    queued: inbox.count(),
    last_seq: log.lastSeq(),
    usage,
    spent: { turn: spentNow, session: spentNow ? addSpend(spent, spentNow) : spent },
    budgets: parts.budgets(),
    parent,
  };
}
