/** Who may invoke which skill. The menu, the gesture, the catalog and the tool all ask here. */
import type { SkillEntry, SkillView } from './types.ts';

/**
 * Commands of the host that people type as `/name`. A skill of the same name is not reached by a gesture and not
 * listed: the command wins, always, and bundling warns. Add a command here when the service gets one.
 */
export const HOST_COMMANDS: readonly string[] = [];

/** An item of `GET /v1/skills`. */
export interface SkillListing {
  name: string;
  description: string;
  digest: string;
  /** Of the block that the model is given; an estimate. */
  tokens: number;
  model_invocable: boolean;
}

/** The skill that a typed `/name` invokes. */
export function findUserInvocable(
  view: Pick<SkillView, 'find'>,
  name: string,
  commands: readonly string[] = HOST_COMMANDS,
): SkillEntry | undefined {
  const entry = view.find(name);
  return entry?.userInvocable === true && !commands.includes(name) ? entry : undefined;
}

/** Exactly what gestures reach, sorted by name (code units). */
export function listUserInvocable(
  view: SkillView,
  commands: readonly string[] = HOST_COMMANDS,
): SkillListing[] {
  return view.entries
    .filter((entry) => findUserInvocable(view, entry.name, commands) !== undefined)
    .map(({ name, description, digest, tokens, modelInvocable }) => ({
      name,
      description,
      digest,
      tokens,
      model_invocable: modelInvocable,
    }));
}

/** What the model may load, sorted by name. */
export function listModelInvocable(entries: readonly SkillEntry[]): SkillEntry[] {
  return entries.filter((entry) => entry.modelInvocable);
}
