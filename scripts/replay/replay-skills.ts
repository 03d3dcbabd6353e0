/** The skills that a replay reads: a folder of them, and perhaps one in the place of another. */
import { basename, dirname, resolve } from 'node:path';
import { buildManifest } from '../../durable/skills/manifest.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import { viewBundle } from '../prompt-check.ts';
import { type Bundle, bundleSkills } from '../skills/bundle.ts';

/**
 * The view of the skills in `dir`. `changed` is the folder of one skill that takes the place of the one of its name.
 * Throws where a folder cannot be read, and where the changed skill would not be published.
 */
export async function readSkills(dir: string, changed: string | null): Promise<SkillView> {
  const base = await bundleSkills(dir);
  if (changed === null) return viewBundle(base);
  const folder = resolve(changed);
  const name = basename(folder);
  const beside = await bundleSkills(dirname(folder));
  const skill = beside.skills.find((entry) => entry.name === name);
  if (!skill)
    throw new Error(`${changed} is no skill that could be published: npm run skills:check says why`);
  const skills = [...base.skills.filter((entry) => entry.name !== name), skill];
  const merged: Bundle = {
    ...base,
    skills: buildManifest(skills).skills,
    manifest: buildManifest(skills),
    entries: [...base.entries, ...beside.entries],
  };
  return viewBundle(merged);
}
