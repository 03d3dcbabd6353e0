/** Publishes skills into the tests' KV, as a push does: contents, manifest, and the pointer last. */
import { env } from 'cloudflare:workers';
import { z } from 'zod';
import {
  buildEntry,
  buildManifest,
  contentKey,
  manifestKey,
  POINTER_KEY,
} from '../../durable/skills/manifest.ts';
import { parseSkill } from '../../durable/skills/parse.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';

/** By name: a body, or a whole SKILL.md with the files beside it. */
export type TestSkill = string | { policy?: string; body: string; files?: Record<string, string> };

export const skillsKv: KVNamespace = z.object({ SKILLS: z.custom<KVNamespace>() }).parse(env).SKILLS;

/** Returns the manifest's digest. */
export async function publishSkills(skills: Record<string, TestSkill>): Promise<string> {
  const entries = [];
  for (const [name, given] of Object.entries(skills)) {
    const skill = typeof given === 'string' ? { body: given } : given;
    const text = `---\nname: ${name}\ndescription: The skill ${name}.\n${skill.policy ?? ''}---\n${skill.body}`;
    const parsed = parseSkill(text, { file: `${name}/SKILL.md`, folder: name });
    if (parsed.kind === 'rejected') throw new Error(JSON.stringify(parsed.diagnostics));
    const resources = [];
    for (const [path, content] of Object.entries(skill.files ?? {})) {
      const digest = sha256Hex(content);
      await skillsKv.put(contentKey(digest), content);
      resources.push({ path, digest, bytes: content.length });
    }
    const entry = buildEntry(parsed.skill, parsed.body, resources);
    await skillsKv.put(contentKey(entry.body), parsed.body);
    entries.push(entry);
  }
  const manifest = buildManifest(entries);
  await skillsKv.put(manifestKey(manifest.digest), manifest.text);
  await skillsKv.put(POINTER_KEY, JSON.stringify({ manifest: manifest.digest, published_at: 0 }));
  return manifest.digest;
}

/** For people only. */
export const PEOPLE_ONLY = 'disable-model-invocation: true\n';
