import { sessionExists, unknownTool } from '../errors.ts';
import type { AgentDefinition } from '../plugins.ts';
import { checkPersona, DEFAULT_CWD, planPrompt } from '../prompt/index.ts';
import { type CreateSession, type SessionView, sessionView } from '../rpc.ts';
import { clearRows, migrate, writeIdentity } from '../storage/index.ts';
import { describeSession } from '../wiring.ts';
import { resolvePath } from '../workspace/index.ts';
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
  const cwd = resolvePath('/', input.cwd ?? DEFAULT_CWD);
  checkTools(host, agent, input.tools);
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

/** A session narrows its agent's tools and adds none. Throws `unknown_tool`. */
function checkTools({ deployment }: Host, agent: AgentDefinition, tools: readonly string[] | null): void {
  if (!tools) return;
  const plan = planPrompt(deployment, agent, null);
  const known = plan.tools.map(({ definition }) => definition.name);
  const unknown = tools.find((name) => !known.includes(name) && !plan.mayUse(name));
  if (unknown !== undefined) {
    throw unknownTool(`The agent ${agent.name} has no tool ${unknown}. It has: ${known.join(', ')}.`, {
      known,
    });
  }
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
    const tools = input.tools ? { tools: input.tools } : {};
    append({ type: 'session/created', agent, model, cwd, metadata, persona, ...tools });
    const created = { ...describeSession(live.parts, false), last_seq: 1 };
    live.parts.receipts.keep(input.idempotency, created);
    return created;
  });
  return { live, view };
}
