/**
 * The registry: what plugins and the session declare, checked once and composed by layer. The nearer layer (the
 * session's) shadows the same name of the farther one (the deployment's); within a layer a name is taken once.
 */

import type { LaneDefinition } from '../context/types.ts';
import { LANES } from '../context/types.ts';
import { registryDuplicate, registryInvalid, toolOrderUnknown } from '../errors.ts';
import type { Plugin } from '../plugins.ts';
import type { ToolDefinition, ToolGuard } from '../tools/types.ts';
import { compareSections } from './render.ts';
import type {
  AssembleListener,
  ContextDefinition,
  RequestListener,
  SectionDefinition,
  ToolSource,
  VariableDefinition,
} from './types.ts';

export interface Owned<T> {
  owner: string;
  definition: T;
}

export interface Listener<T> {
  owner: string;
  listen: T;
}

/** One layer, or several composed: names to what they stand for. */
export interface Layer {
  sections: Map<string, Owned<SectionDefinition>>;
  variables: Map<string, Owned<VariableDefinition>>;
  contexts: Map<string, Owned<ContextDefinition>>;
  tools: Map<string, Owned<ToolDefinition>>;
  toolSources: Owned<ToolSource>[];
  lanes: Owned<LaneDefinition>[];
  guards: Owned<ToolGuard>[];
  onRequest: Listener<RequestListener>[];
  onAssemble: Listener<AssembleListener>[];
}

const VARIABLE_NAME = /^[a-z][a-z0-9_]*$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const TOOL_PREFIX = /^[a-zA-Z0-9_-]{1,16}$/;
export const UNLISTED_TOOLS = '<unlisted-tools>';

/** Checks and collects one layer. Throws `registry_duplicate` and `registry_invalid`, naming both owners. */
export function createLayer(plugins: readonly Plugin[]): Layer {
  const layer = emptyLayer();
  const names = new Set<string>();
  for (const plugin of plugins) {
    const owner = plugin.name;
    if (names.has(owner))
      throw registryDuplicate(`The plugin ${owner} is registered twice.`, { name: owner });
    names.add(owner);
    for (const section of plugin.sections ?? []) {
      checkOrder('section', section.name, section.order);
      register('section', layer.sections, section.name, { owner, definition: section });
    }
    for (const context of plugin.contexts ?? []) {
      checkOrder('context', context.name, context.order);
      register('context', layer.contexts, context.name, { owner, definition: context });
    }
    for (const variable of plugin.variables ?? []) {
      checkName('variable', variable.name, VARIABLE_NAME);
      register('variable', layer.variables, variable.name, { owner, definition: variable });
    }
    for (const tool of plugin.tools ?? []) {
      checkName('tool', tool.name, TOOL_NAME);
      register('tool', layer.tools, tool.name, { owner, definition: tool });
    }
    for (const source of plugin.toolSources ?? []) {
      checkName('tool prefix', source.prefix, TOOL_PREFIX);
      const taken = layer.toolSources.find(({ definition }) => definition.prefix === source.prefix);
      if (taken) throw duplicate('tool prefix', source.prefix, taken.owner, owner);
      layer.toolSources.push({ owner, definition: source });
    }
    for (const lane of plugin.lanes ?? []) {
      const taken = layer.lanes.find(
        ({ definition }) => definition.lane === lane.lane && definition.name === lane.name,
      );
      if (taken) throw duplicate('lane', `${lane.lane}/${lane.name}`, taken.owner, owner);
      layer.lanes.push({ owner, definition: lane });
    }
    for (const guard of plugin.guards ?? []) layer.guards.push({ owner, definition: guard });
    if (plugin.onRequest) layer.onRequest.push({ owner, listen: plugin.onRequest });
    if (plugin.onAssemble) layer.onAssemble.push({ owner, listen: plugin.onAssemble });
  }
  checkPrefixes(layer);
  return layer;
}

/** Layers composed, farthest first: what is near shadows what is far. */
export function composeLayers(layers: readonly Layer[]): Layer {
  const whole = emptyLayer();
  for (const layer of layers) {
    for (const [name, owned] of layer.sections) whole.sections.set(name, owned);
    for (const [name, owned] of layer.variables) whole.variables.set(name, owned);
    for (const [name, owned] of layer.contexts) whole.contexts.set(name, owned);
    for (const [name, owned] of layer.tools) whole.tools.set(name, owned);
    whole.toolSources.push(...layer.toolSources);
    whole.lanes.push(...layer.lanes);
    whole.guards.push(...layer.guards);
    whole.onRequest.push(...layer.onRequest);
    whole.onAssemble.push(...layer.onAssemble);
  }
  whole.lanes.sort((a, b) => compareLanes(a.definition, b.definition));
  return whole;
}

/**
 * Tool names in the order in which models see them. Throws `tool_order_unknown` for a listed name that nobody
 * registers, and `registry_invalid` unless there is exactly one `<unlisted-tools>` entry.
 */
export function orderTools(names: readonly string[], toolOrder: readonly string[] | undefined): string[] {
  const sorted = [...names].sort(compareNames);
  if (!toolOrder) return sorted;
  const listed = toolOrder.filter((name) => name !== UNLISTED_TOOLS);
  const repeated = listed.find((name, i) => listed.indexOf(name) !== i);
  if (repeated) throw registryDuplicate(`The tool order lists ${repeated} twice.`, { name: repeated });
  if (toolOrder.length - listed.length !== 1) {
    throw registryInvalid(`The tool order needs exactly one ${UNLISTED_TOOLS} entry.`, {
      toolOrder: [...toolOrder],
    });
  }
  const unknown = listed.find((name) => !names.includes(name));
  if (unknown) {
    const detail = `The tool order lists ${unknown}, which no plugin registers. Registered: ${sorted.join(', ')}.`;
    throw toolOrderUnknown(detail, { name: unknown, registered: sorted });
  }
  const unlisted = sorted.filter((name) => !listed.includes(name));
  return toolOrder.flatMap((name) => (name === UNLISTED_TOOLS ? unlisted : [name]));
}

/** By code unit: the same everywhere. */
export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function sortByOrder<T extends { name: string; order: number }>(
  entries: Iterable<Owned<T>>,
): Owned<T>[] {
  return [...entries].sort((a, b) => compareSections(a.definition, b.definition));
}

function emptyLayer(): Layer {
  return {
    sections: new Map(),
    variables: new Map(),
    contexts: new Map(),
    tools: new Map(),
    toolSources: [],
    lanes: [],
    guards: [],
    onRequest: [],
    onAssemble: [],
  };
}

function register<T>(what: string, map: Map<string, Owned<T>>, name: string, owned: Owned<T>): void {
  const taken = map.get(name);
  if (taken) throw duplicate(what, name, taken.owner, owned.owner);
  map.set(name, owned);
}

function duplicate(what: string, name: string, first: string, second: string) {
  return registryDuplicate(`The ${what} ${name} is registered by ${first} and again by ${second}.`, {
    what,
    name,
  });
}

function checkOrder(what: string, name: string, order: number): void {
  if (!Number.isFinite(order)) {
    throw registryInvalid(`The ${what} ${name} has the order ${order}; it must be finite.`, { what, name });
  }
}

function checkName(what: string, name: string, grammar: RegExp): void {
  if (!grammar.test(name)) {
    throw registryInvalid(`The ${what} name ${JSON.stringify(name)} does not match ${grammar.source}.`, {
      what,
      name,
    });
  }
}

/** A tool that is registered may not stand where a source's tools will. */
function checkPrefixes({ tools, toolSources }: Layer): void {
  for (const { owner, definition } of toolSources) {
    const name = [...tools.keys()].find((candidate) => candidate.startsWith(definition.prefix));
    if (name !== undefined) {
      throw registryInvalid(`The tool ${name} has the prefix of the tools of ${owner}.`, { name });
    }
  }
}

function compareLanes(a: LaneDefinition, b: LaneDefinition): number {
  return LANES.indexOf(a.lane) - LANES.indexOf(b.lane) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
