/**
 * The session's loop in an object of the benchmark, without the session's front: with its rooms in the object's database,
 * as the session has them, or in memory. All else is the same in both, and nobody listens.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Deployment } from '../../../durable/composition.ts';
import { admitMessage, createReceipts } from '../../../durable/inbox/index.ts';
import { createDriver, type LoopPorts, NO_FAULTS, resolveLimits } from '../../../durable/loop/index.ts';
import { createModelResolver, waitWithTimer } from '../../../durable/models/index.ts';
import { planPrompt } from '../../../durable/prompt/index.ts';
import type { CreateSession } from '../../../durable/rpc.ts';
import { createSkillUses } from '../../../durable/skill-uses.ts';
import { skillSourceFor } from '../../../durable/skills/index.ts';
import {
  createSqlPort,
  type Identity,
  migrate,
  readIdentity,
  writeIdentity,
} from '../../../durable/storage/index.ts';
import { foldTurn, type MessageId, openTurn, type TurnState } from '../../../durable/transcript/index.ts';
import { createWatchdog } from '../../../durable/watchdog.ts';
import { openSession, type SessionParts, toLoopPorts } from '../../../durable/wiring.ts';
import { createWorkspace } from '../../../durable/workspace/index.ts';
import type { Rooms } from '../perch-client.ts';
import { createMemoryRooms, FORGETFUL_SQL } from './memory-rooms.ts';

interface LoopEnv extends Record<string, unknown> {
  SKILLS: KVNamespace;
}

const SKILLS_FRESH_MS = 30_000;
const NO_WATCHDOG: LoopPorts['watchdog'] = {
  arm: () => undefined,
  disarm: () => undefined,
  armAt: () => undefined,
};

export function defineLoopObject(deployment: Deployment) {
  return class LoopObject extends DurableObject<LoopEnv> {
    /** Answers so many prompts, which all wait before the first is taken. */
    async benchLoop(rooms: Rooms, model: string, turns: number): Promise<void> {
      const parts = rooms === 'disk' ? this.#openOnDisk(model) : this.#openInMemory(model);
      const watchdog = rooms === 'disk' ? createWatchdog(this.ctx.storage, Date.now) : NO_WATCHDOG;
      const driver = createDriver(this.#toPorts(parts, watchdog));
      const { id: session } = parts.identity;
      for (let i = 0; i < turns; i++) {
        admitMessage(
          { ...parts, session, accepts: () => true, model, arm: watchdog.arm },
          {
            id: `msg_${i}`,
            delivery: 'followup',
            source: { kind: 'user' },
            content: [{ type: 'text', text: `Look the services of group ${i} up.` }],
            idempotency: null,
          },
        );
      }
      await driver.wake();
    }

    override alarm(): void {
      // The watchdog's: what it guards runs.
    }

    #openOnDisk(model: string): SessionParts {
      const sql = createSqlPort(this.ctx.storage);
      return sql.atomically(() => {
        migrate(sql);
        writeIdentity(sql, toCreation(model), deployment.agent(null).name, '/', Date.now());
        const identity = readIdentity(sql);
        if (!identity) throw new Error('the session row is missing');
        return logCreation(openSession(sql, identity, deployment, Date.now));
      });
    }

    #openInMemory(model: string): SessionParts {
      const { id, tenant, directory, metadata, persona } = toCreation(model);
      const agent = deployment.agent(null);
      const cwd = '/';
      const identity: Identity = {
        ...{ id, tenant, directory, metadata, persona, agent: agent.name, model, cwd },
        created_at: Date.now(),
        tools: null,
        parent: null,
      };
      const rooms = createMemoryRooms(Date.now);
      const plan = planPrompt(deployment, agent, null);
      return logCreation({
        ...rooms,
        identity,
        facts: { id, agent: agent.name, cwd, metadata },
        receipts: createReceipts(FORGETFUL_SQL, Date.now),
        plan: () => plan,
        workspace: createWorkspace(FORGETFUL_SQL, cwd, Date.now),
        uses: createSkillUses(FORGETFUL_SQL, rooms.log, rooms.state.read),
        readSkills: (source) => ({ view: () => source.view({ tenant, session: id }) }),
        turn: followTurn(rooms.log),
        rowsOfTurn: () => 0,
        budgets: () => resolveLimits(agent.budgets),
        now: Date.now,
      });
    }

    #toPorts(parts: SessionParts, watchdog: LoopPorts['watchdog']): LoopPorts {
      return toLoopPorts(parts, {
        deployment,
        models: createModelResolver(deployment.providers, this.env),
        skills: skillSourceFor({ kv: this.env.SKILLS, freshMs: SKILLS_FRESH_MS, now: Date.now }),
        env: this.env,
        now: Date.now,
        wait: waitWithTimer,
        random: Math.random,
        newMessageId: () => `inj_${crypto.randomUUID()}` as MessageId,
        faults: NO_FAULTS,
        publish: () => undefined,
        watchdog,
        reportTurn({ reason }) {
          if (reason.kind !== 'completed') throw new Error(`the turn ended ${JSON.stringify(reason)}`);
        },
        reportFailure: (error) => console.error(error),
      });
    }
  };
}

function toCreation(model: string): CreateSession {
  return {
    ...{ tenant: 'bench', directory: 'bench', id: 'loop', metadata: {} },
    ...{ agent: null, model, cwd: null, persona: null, tools: null, idempotency: null },
  };
}

function logCreation(parts: SessionParts): SessionParts {
  const { agent, model, cwd, metadata, persona } = parts.identity;
  parts.log.commit((append) => append({ type: 'session/created', agent, model, cwd, metadata, persona }));
  return parts;
}

/** The open turn's state, as the session follows it. */
function followTurn(log: SessionParts['log']): () => TurnState | null {
  let state: TurnState | null = null;
  log.observe((committed) => {
    for (const { event } of committed) {
      if (event.type === 'turn/start') state = foldTurn(openTurn(event.turn), event);
      else if (state) state = foldTurn(state, event);
      if (state?.ended) state = null;
    }
  });
  return () => state;
}
