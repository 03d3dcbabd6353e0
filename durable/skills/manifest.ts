/**
 * What the bundle is in KV (namespace `SKILLS`), and the digests that bind it together.
 *
 * | key                 | value                                              | lifetime                                |
 * |---------------------|----------------------------------------------------|-----------------------------------------|
 * | `bundle/current`    | JSON `{manifest, published_at}`: the pointer       | rewritten by a release; the last write  |
 * | `manifest/<digest>` | JSON, see `manifest`; digest: SHA-256 of its bytes | never rewritten; cached for ever        |
 * | `content/<digest>`  | a body or a resource, as bytes, under its SHA-256  | never rewritten; cached for ever        |
 *
 * Everything but the pointer is named by its content, so a reader sees one whole release or another, though KV is
 * eventually consistent, and a rollback is one write of the pointer.
 */
import { z } from 'zod';
import { estimateTokens } from '../prompt/tokens.ts';
import { sha256Hex } from '../storage/digest.ts';
import { compareCodeUnits, encodeCanonical } from './canonical.ts';
import { isSkillName } from './gesture.ts';
import type { SkillHeader } from './header-fields.ts';
import { renderSkillContent } from './render.ts';
import type { SkillEntry, SkillResource } from './types.ts';

export const POINTER_KEY = 'bundle/current';
export const manifestKey = (digest: string): string => `manifest/${digest}`;
export const contentKey = (digest: string): string => `content/${digest}`;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().nonnegative();

export const bundlePointer = z.object({
  manifest: sha256,
  /** Milliseconds since the epoch. */
  published_at: count,
});
export type BundlePointer = z.infer<typeof bundlePointer>;

const skillResource = z.object({ path: z.string().refine(isResourcePath), digest: sha256, bytes: count });

const skillEntry = z.object({
  name: z.string().refine(isSkillName),
  description: z.string().min(1),
  digest: sha256,
  body: sha256,
  bytes: count,
  tokens: count,
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  license: z.string().optional(),
  compatibility: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  allowedTools: z.string().optional(),
  resources: z.array(skillResource),
});

/** Version 1: the entries, sorted by name, each name once. */
export const manifest = z.object({
  version: z.literal(1),
  skills: z.array(skillEntry).refine((skills) => isAscending(skills.map((skill) => skill.name)), {
    error: 'skills must be sorted by name, each name once',
  }),
});

/** A manifest ready to publish: its text is what the digest covers. */
export interface BuiltManifest {
  digest: string;
  text: string;
  skills: SkillEntry[];
}

/** Relative, `/` between parts, no `.` or `..`, no control character and no markup, since the model reads it. */
export function isResourcePath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keeping them out is the rule
  if (path === '' || /[\u0000-\u001f\u007f-\u009f\u2028\u2029<>\\]/.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** The entry of a parsed skill. `tokens` estimates what the model is given, with the block around the body. */
export function buildEntry(
  header: SkillHeader,
  body: string,
  resources: readonly SkillResource[],
): SkillEntry {
  const sorted = [...resources].sort((a, b) => compareCodeUnits(a.path, b.path));
  const bytes = new TextEncoder().encode(body);
  const bodyDigest = sha256Hex(bytes);
  return {
    ...header,
    digest: digestSkill(header, bodyDigest, sorted),
    body: bodyDigest,
    bytes: bytes.byteLength,
    tokens: estimateTokens(renderSkillContent({ name: header.name, resources: sorted }, body)),
    resources: sorted,
  };
}

/** Changes when anything of the skill does: a field of the header, the body, a resource's path or bytes. */
function digestSkill(header: SkillHeader, bodyDigest: string, resources: readonly SkillResource[]): string {
  const files = resources.map(({ path, digest }) => [path, digest]);
  return sha256Hex(encodeCanonical({ header, body: bodyDigest, files }));
}

/** Sorted by name (code units), so that the same skills give the same digest wherever they are bundled. */
export function buildManifest(entries: readonly SkillEntry[]): BuiltManifest {
  const skills = [...entries].sort((a, b) => compareCodeUnits(a.name, b.name));
  const text = encodeCanonical({ version: 1, skills });
  return { digest: sha256Hex(text), text, skills };
}

function isAscending(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || compareCodeUnits(names[index - 1] ?? '', name) < 0);
}
