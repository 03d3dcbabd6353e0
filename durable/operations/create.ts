import { sessionExists } from '../errors.ts';
import { checkPersona, DEFAULT_CWD } from '../prompt/index.ts';
import { type CreateSession, type SessionView, sessionView } from '../rpc.ts';
import { clearRows, migrate, writeIdentity } from '../storage/index.ts';
import { describeSession } from '../wiring.ts';
import { listSession } from './drive.ts';
import { untilDecided } from './erase.ts';
import { type Host, type Live, requireLive } from './host.ts';

/**
 * One commit: schema, identity, `session/created`, receipt. Throws `session_exists`, `idempotency_conflict`,
 * `unknown_agent`, `unknown_model`, `budget_not_priced`, and what a persona that cannot be rendered throws; nothing is kept then.
 */
export async function createSession(host: Host, input: CreateSession): Promise<SessionView> {
  const { deployment } = host;
  const agent = deployment.agent(input.agent);
  if (input.model !== null) deployment.checkModel(agent, input.model);
  const cwd = input.cwd ?? DEFAULT_CWD;
  if (input.persona !== null) {
    const skills = await host.skills.view({ tenant: input.tenant, session: input.id });
    await checkPersona(deployment, agent, { ...input, agent: agent.name, cwd }, skills);
  }
  await host.faults.hit('create.checked');
  await untilDecided(host);
  if (host.presence.kind !== 'absent') {
    const first = requireLive(host).parts.receipts.find(input.idempotency, sessionView);
    if (first) return first;
    throw sessionExists('The id is taken.');
  }
  const { live, view } = host.sql.atomically(() => writeSession(host, input, agent.name, cwd));
  host.presence = { kind: 'live', live };
  await host.faults.hit('create.committed');
  listSession(host, live);
  return view;
}

function writeSession(
  host: Host,
  input: CreateSession,
  agent: string,
  cwd: string,
): { live: Live; view: SessionView } {
  const { model, metadata, persona } = input;
  migrate(host.sql);
  clearRows(host.sql);
  writeIdentity(host.sql, input, agent, cwd, host.now());
  const live = host.openLive();
  const view = live.parts.log.commit((append) => {
    append({ type: 'session/created', agent, model, cwd, metadata, persona });
    const created = { ...describeSession(live.parts, false), last_seq: 1 };
    live.parts.receipts.keep(input.idempotency, created);
    return created;
  });
  return { live, view };
}
