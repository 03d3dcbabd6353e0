/**
 * A session in this process: the loop, the inbox and the transcript as they run in the object, over a database of
 * Node's own. What stands in for the platform is the caller's: the clock, the models, the skills, the alarm.
 */
import type { DatabaseSync } from 'node:sqlite';
import { createDriver, type Driver, type LoopPorts } from '../../durable/loop/index.ts';
import type { CreateSession } from '../../durable/rpc.ts';
import { isInitialised, migrate, readIdentity, writeIdentity } from '../../durable/storage/index.ts';
import { type Outside, openSession, type SessionParts, toLoopPorts } from '../../durable/wiring.ts';
import { createSqlitePort } from './sqlite-port.ts';

export interface LocalSession {
  parts: SessionParts;
  ports: LoopPorts;
  driver: Driver;
}

/** Opens the session that the database holds, or makes it first. A second call on the same database is a restart. */
export function openLocalSession(db: DatabaseSync, create: CreateSession, outside: Outside): LocalSession {
  const { deployment } = outside;
  const sql = createSqlitePort(db);
  const fresh = !isInitialised(sql);
  migrate(sql);
  const agent = deployment.agent(create.agent);
  if (fresh) writeIdentity(sql, create, agent.name, create.cwd ?? '/', outside.now());
  const identity = readIdentity(sql);
  if (!identity) throw new Error('the session row is missing');
  const parts = openSession(sql, identity, deployment, outside.now);
  if (fresh) {
    const { model, metadata, persona } = create;
    const tools = create.tools ? { tools: create.tools } : {};
    parts.log.commit((append) =>
      append({
        type: 'session/created',
        agent: agent.name,
        model,
        cwd: identity.cwd,
        metadata,
        persona,
        ...tools,
      }),
    );
  }
  const ports = toLoopPorts(parts, outside);
  return { parts, ports, driver: createDriver(ports) };
}
