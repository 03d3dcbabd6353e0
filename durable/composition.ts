/** A deployment, checked once when the worker starts: what sessions, previews and the checks work with. */

import { runtimeContextLane } from './context/index.ts';
import { budgetNotPriced, registryDuplicate, registryInvalid, unknownAgent } from './errors.ts';
import { DEFAULT_RETRY } from './loop/retries.ts';
import { checkRoute, type ProviderDefinition } from './models/index.ts';
import type { AgentDefinition, DeploymentDefinition, Plugin, Price, RetryPolicy } from './plugins.ts';
import {
  createLayer,
  harness,
  type Layer,
  loopFacts,
  orderTools,
  PERSONA_ORDER,
  PERSONA_SECTION,
} from './prompt/index.ts';

/** Long enough for a model that thinks before its first word; a stalled socket is given up after it. */
const MODEL_STALL_MS = 120_000;
/** Far longer than KV and plugins need: it ends a step that something holds for ever. */
const STEP_MS = 60_000;
/** A week: over a weekend and a holiday, and not for ever. */
const APPROVAL_MS = 7 * 24 * 3_600_000;

export interface Deployment {
  agents: readonly AgentDefinition[];
  /** The named agent, or the default one for null. Throws `unknown_agent`, listing those that there are. */
  agent: (name: string | null) => AgentDefinition;
  layer: Layer;
  providers: readonly ProviderDefinition[];
  toolOrder: string[] | undefined;
  modelStallMs: number;
  /** Milliseconds in which a step must be prepared: skills, waterfall, sections, lanes. */
  stepMs: number;
  /** Milliseconds that a person has to decide. */
  approvalMs: number;
  retry: RetryPolicy;
  priceOf: (provider: string, model: string) => Price | undefined;
  /** Whether the agent may run on this route: `unknown_model`, and `budget_not_priced` where it has one of money. */
  checkModel: (agent: AgentDefinition, route: string) => void;
}

/** Throws on every mistake that can be seen without a request: duplicates, unknown names, malformed routes. */
export function resolveDeployment(definition: DeploymentDefinition): Deployment {
  const { agents, plugins, providers, toolOrder } = definition;
  checkUnique('agent', agents);
  checkUnique('provider', providers);
  const find = (name: string | null): AgentDefinition => {
    const wanted = name ?? definition.defaultAgent ?? agents[0].name;
    const found = agents.find((agent) => agent.name === wanted);
    if (found) return found;
    const known = agents.map((agent) => agent.name);
    throw unknownAgent(`There is no agent ${wanted}. There are: ${known.join(', ')}.`, { known });
  };
  const personas: Plugin = {
    name: 'deployment',
    sections: [
      { name: PERSONA_SECTION, order: PERSONA_ORDER, text: ({ session }) => find(session.agent).persona },
    ],
  };
  const context: Plugin = { name: 'runtime-context', lanes: [runtimeContextLane] };
  const layer = createLayer([harness, loopFacts, context, personas, ...plugins]);
  orderTools([...layer.tools.keys()], toolOrder);
  find(null);
  const prices = { ...FREE, ...definition.prices };
  for (const agent of agents) {
    checkRoute(agent.model, providers);
    checkBudgets(agent, prices);
  }
  return {
    agents,
    agent: find,
    layer,
    providers,
    toolOrder,
    modelStallMs: definition.modelStallMs ?? MODEL_STALL_MS,
    stepMs: definition.stepMs ?? STEP_MS,
    approvalMs: definition.approvalMs ?? APPROVAL_MS,
    retry: { ...DEFAULT_RETRY, ...definition.retry },
    priceOf: (provider, model) => prices[`${provider}/${model}`],
    checkModel(agent, route) {
      checkRoute(route, providers);
      if (!prices[route] && wantsMoney(agent)) {
        throw budgetNotPriced(`The agent ${agent.name} has a budget of money, and ${route} has no price.`, {
          route,
        });
      }
    },
  };
}

/** The models inside the worker cost nobody anything. */
const FREE: Record<string, Price> = {
  'offline/demo': { input: 0, output: 0 },
  'offline/instant': { input: 0, output: 0 },
};

/** A limit that is none, and a budget of money for a model that has no price, would be found out in a turn. */
function checkBudgets(agent: AgentDefinition, prices: Readonly<Record<string, Price>>): void {
  const { turn = {}, session = {} } = agent.budgets ?? {};
  for (const [name, limit] of [...Object.entries(turn), ...Object.entries(session)]) {
    if (!(limit >= 0)) throw registryInvalid(`The budget ${name} of the agent ${agent.name} is no limit.`);
  }
  if (wantsMoney(agent) && !prices[agent.model]) {
    throw registryInvalid(
      `The agent ${agent.name} has a budget of money, and its model ${agent.model} has no price.`,
    );
  }
}

function wantsMoney({ budgets }: AgentDefinition): boolean {
  return budgets?.turn?.usd !== undefined || budgets?.session?.usd !== undefined;
}

function checkUnique(what: string, entries: readonly { name: string }[]): void {
  if (entries.length === 0) throw registryInvalid(`A deployment needs at least one ${what}.`);
  const names = entries.map((entry) => entry.name);
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated) throw registryDuplicate(`The ${what} ${repeated} is defined twice.`, { name: repeated });
}
