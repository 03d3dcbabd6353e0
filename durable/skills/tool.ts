/** The `skill` tool: the model's own way to a skill. Its description is the whole contract; it has no section. */
import { z } from 'zod';
import { skillNameInvalid, skillNotModelInvocable, skillUnknown } from '../errors.ts';
import { defineTool } from '../tools/types.ts';
import { isSkillName, NAME_RULE } from './gesture.ts';
import { listModelInvocable } from './invocable.ts';
import { renderSkillContent } from './render.ts';
import type { SkillEntry, SkillView } from './types.ts';

export const SKILL_TOOL = 'skill';

const DESCRIPTION = `Loads a skill: instructions written for one kind of work. The newest <available_skills> list in the \
conversation names the skills and says when each applies. When one fits the task, load it before you begin, then follow \
what it says. The answer is a <skill_content> block. Do not load a skill whose block is in the conversation already.`;

export const skillTool = defineTool({
  name: SKILL_TOOL,
  description: DESCRIPTION,
  input: z.object({ name: z.string().describe('A name from the list, without a slash.') }),
  parallelSafe: true,
  whole: true,
  idempotent: true,
  available: ({ skills }) => skills.entries.some((entry) => entry.modelInvocable),
  async run({ name }, { skills }) {
    const entry = findLoadable(skills, name);
    const text = renderSkillContent(entry, await skills.body(entry));
    return { content: [{ type: 'text', text }], facts: { skill: name, digest: entry.digest } };
  },
});

/** What a loaded skill's result says of itself in the log. */
export const loadedSkill = z.object({ skill: z.string(), digest: z.string() });

/**
 * Exact names only, never a near match. Throws `skill_name_invalid`, `skill_unknown` or `skill_not_model_invocable`.
 * The roster in an error holds what the model may load and nothing else. `isOpened` says what is open beyond that.
 */
export function findLoadable(
  skills: SkillView,
  name: string,
  isOpened: (name: string) => boolean = () => false,
): SkillEntry {
  if (!isSkillName(name)) {
    throw skillNameInvalid(`A skill name has ${NAME_RULE}, and no slash before it.`);
  }
  const entry = skills.find(name);
  if (entry === undefined) {
    const available = listModelInvocable(skills.entries).map((known) => known.name);
    const roster = available.length === 0 ? 'there are none' : available.join(', ');
    throw skillUnknown(`There is no skill "${name}". Skills that you can load: ${roster}.`, { available });
  }
  if (entry.modelInvocable || isOpened(name)) return entry;
  // The person may have invoked it a moment ago, so the model is not told to ask for that.
  throw skillNotModelInvocable(
    `The skill "${name}" is not yours to load. If its <skill_content> block is in the conversation, follow it; otherwise go on without it.`,
  );
}
