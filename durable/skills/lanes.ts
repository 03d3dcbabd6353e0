/** What skills add before a step: the catalog, and the instructions of the skills that people named. */
import type { Injection, LaneContext, LaneDefinition, LaneOutcome } from '../context/types.ts';
import { buildCatalog, type Catalog, EMPTY_CATALOG } from './catalog.ts';
import { findGestures } from './gesture.ts';
import { findUserInvocable, HOST_COMMANDS } from './invocable.ts';
import { renderSkillContent } from './render.ts';
import { SKILL_TOOL } from './tool.ts';
import type { SkillEntry } from './types.ts';

const NOTHING: LaneOutcome = { kind: 'enter', inject: [] };

/** A view's entries are one array for as long as its release is current, so a step does not build them again. */
const catalogs = new WeakMap<readonly SkillEntry[], Catalog | null>();

/**
 * Publishes the catalog when the surface has none or another one, and an explicit empty list when there was one and
 * nothing is left of it. A bundle that cannot be read changes nothing: the last catalog stands.
 */
export const catalogLane: LaneDefinition = { lane: 'catalog', name: 'skills', run: publishCatalog };

function publishCatalog(context: LaneContext): LaneOutcome {
  if (context.skills.fault !== undefined) return NOTHING;
  const source = context.lastOfKind('skill-catalog')?.message.source;
  const last = source?.kind === 'skill-catalog' ? source.digest : null;
  const catalog = findCatalog(context);
  if (catalog === null && last === null) return NOTHING;
  const { digest, names, text } = catalog ?? EMPTY_CATALOG;
  if (last === digest) return NOTHING;
  const isUpdate = last !== null;
  const injection: Injection = {
    source: {
      kind: 'skill-catalog',
      form: 'catalog',
      entries: names,
      digest,
      ...(isUpdate ? { update: true } : {}),
    },
    content: [
      { type: 'text', text: isUpdate ? `This list of skills replaces every earlier one.\n${text}` : text },
    ],
  };
  return { kind: 'enter', inject: [injection] };
}

/** Null also for an agent without the tool: a prompt does not offer what it has no means to load. */
function findCatalog({ skills, assembly }: LaneContext): Catalog | null {
  if (!assembly.tools.some(({ tool }) => tool.name === SKILL_TOOL)) return null;
  const known = catalogs.get(skills.entries);
  if (known !== undefined) return known;
  const catalog = buildCatalog(skills.entries);
  catalogs.set(skills.entries, catalog);
  return catalog;
}

/**
 * Injects each user-invocable skill that the claimed messages name, in first-seen order. A name that is none stays
 * prose. A body that cannot be read throws: what a person asked for by name is not left out in silence.
 */
export const skillLane: LaneDefinition = createSkillLane(HOST_COMMANDS);

export function createSkillLane(commands: readonly string[]): LaneDefinition {
  return {
    lane: 'skill',
    name: 'skills',
    async run({ claimed, skills }) {
      const inject: Injection[] = [];
      for (const name of findGestures(claimed)) {
        const entry = findUserInvocable(skills, name, commands);
        if (entry === undefined) continue;
        inject.push({
          source: { kind: 'skill-invocation', name, form: 'instructions', digest: entry.digest },
          content: [{ type: 'text', text: renderSkillContent(entry, await skills.body(entry)) }],
        });
      }
      return { kind: 'enter', inject };
    },
  };
}
