/**
 * What the bundle is in KV (namespace `SKILLS`), and the digests that bind it together.
 *
 * | key                        | value                                              | lifetime                         |
 * |----------------------------|----------------------------------------------------|----------------------------------|
 * | `bundle/current`           | JSON, see `bundlePointer`: the deployment's pointer | rewritten by a release           |
 * | `tenant/<digest>/current`  | the same for a tenant; digest: SHA-256 of its id   | rewritten by a tenant's change   |
 * | `manifest/<digest>`        | JSON, see `manifest`; digest: SHA-256 of its bytes | never rewritten; cached for ever |
 * | `content/<digest>`         | a body or a resource, as bytes, under its SHA-256  | never rewritten; cached for ever |
 * | `release/<time>-<digest>`  | JSON, see `scripts/skills/releases.ts`             | until garbage collection         |
 * | `gc/unreferenced`          | JSON, see `scripts/skills/gc.ts`                   | rewritten by garbage collection  |
 *
 * Manifests and contents are named by what is in them, so a reader sees one whole release or another, though KV is
 * eventually consistent, and a rollback is one write of the pointer. Writers write contents before the manifest and the
 * manifest before the pointer.
 */
import { z } from 'zod';
import { estimateTokens } from '../prompt/tokens.ts';
import { sha256Hex } from '../storage/digest.ts';
import { compareCodeUnits, encodeCanonical } from './canonical.ts';
import { isSkillName } from './gesture.ts';
import type { SkillHeader } from './header-fields.ts';
import { renderSkillContent } from './render.ts';
import type { SkillEntry, SkillResource, SkillScope } from './types.ts';

export const POINTER_KEY = 'bundle/current';
export const tenantPointerKey = (tenant: string): string => `tenant/${sha256Hex(tenant)}/current`;
export const manifestKey = (digest: string): string => `manifest/${digest}`;
export const contentKey = (digest: string): string => `content/${digest}`;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().nonnegative();

/** A second release for a share of the sessions. It is in the pointer, so that both change in one write. */
const canary = z.object({
  manifest: sha256,
  /** Of the sessions, over 0 and up to 100. */
  percent: z.number().gt(0).max(100),
  /** Milliseconds since the epoch. */
  published_at: count,
});

export const bundlePointer = z.object({
  manifest: sha256,
  /** Milliseconds since the epoch. */
  published_at: count,
  /**
   * The manifest that this one took the place of, which a reader falls back to while this one cannot be read yet. Null:
   * there was none. Absent: not known.
   */
  previous: sha256.nullable().optional(),
  canary: canary.optional(),
});
export type BundlePointer = z.infer<typeof bundlePointer>;

/** The pointer to a new release, or back to an old one. It has no canary: everybody reads the same again. */
export function pointTo(
  manifest: string,
  { before, at }: { before: BundlePointer | null; at: number },
): BundlePointer {
  if (before === null) return { manifest, published_at: at, previous: null };
  const previous = before.manifest === manifest ? before.previous : before.manifest;
  return { manifest, published_at: at, ...(previous === undefined ? {} : { previous }) };
}

/** The manifest that a session reads. It stays on its side while the share only grows. */
export function chooseManifest(pointer: BundlePointer, { tenant, session }: SkillScope): string {
  if (pointer.canary === undefined || session === null) return pointer.manifest;
  // Ids are unique within a tenant. The first 32 bits of the digest, as a part of 100.
  const place =
    (Number.parseInt(sha256Hex(encodeCanonical([tenant, session])).slice(0, 8), 16) / 2 ** 32) * 100;
  return place < pointer.canary.percent ? pointer.canary.manifest : pointer.manifest;
}

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
