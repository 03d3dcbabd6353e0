/** A deployment, checked once when the worker starts: what sessions, previews and the checks work with. */

import { runtimeContextLane } from './context/index.ts';
import { registryDuplicate, registryInvalid, unknownAgent } from './errors.ts';
import { checkRoute, type ProviderDefinition } from './models/index.ts';
import type { AgentDefinition, DeploymentDefinition, Plugin } from './plugins.ts';
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

export interface Deployment {
  agents: readonly AgentDefinition[];
  /** The named agent, or the default one for null. Throws `unknown_agent`, listing those that there are. */
  agent: (name: string | null) => AgentDefinition;
  layer: Layer;
  providers: readonly ProviderDefinition[];
  toolOrder: string[] | undefined;
  modelStallMs: number;
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
  for (const agent of agents) checkRoute(agent.model, providers);
  return {
    agents,
    agent: find,
    layer,
    providers,
    toolOrder,
    modelStallMs: definition.modelStallMs ?? MODEL_STALL_MS,
  };
}

function checkUnique(what: string, entries: readonly { name: string }[]): void {
  if (entries.length === 0) throw registryInvalid(`A deployment needs at least one ${what}.`);
  const names = entries.map((entry) => entry.name);
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated) throw registryDuplicate(`The ${what} ${repeated} is defined twice.`, { name: repeated });
}
