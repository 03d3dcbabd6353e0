/** Skills as the rest of the service sees them. The format and the rules are in DESIGN section 6. */
import type { Failure } from '../transcript/events.ts';

export interface SkillResource {
  /** Relative to the skill's folder, `/` between parts. */
  path: string;
  /** SHA-256 of the bytes, in hex. */
  digest: string;
  bytes: number;
}

export interface SkillEntry {
  name: string;
  description: string;
  /** SHA-256 over the header, the body and the resources' digests: changes when anything of the skill does. */
  digest: string;
  /** SHA-256 of the body, under which it is stored. */
  body: string;
  bytes: number;
  /** An estimate: see `estimateTokens`. */
  tokens: number;
  userInvocable: boolean;
  modelInvocable: boolean;
  license?: string | undefined;
  compatibility?: string | undefined;
  metadata?: Record<string, string> | undefined;
  allowedTools?: string | undefined;
  resources: SkillResource[];
}

export type SkillLayer = 'tenant' | 'deployment';

/**
 * The skills of one manifest: what one step reads. A release in the middle of the step does not change it. Where
 * the bundle cannot be read the view is empty and `fault` says why.
 */
export interface SkillView {
  /** SHA-256 of the deployment's manifest; null where there is none. */
  manifest: string | null;
  /** SHA-256 of the tenant's own manifest, whose skills shadow the deployment's; null where the tenant has none. */
  tenantManifest: string | null;
  fault?: Failure | undefined;
  /** All skills of the manifest, sorted by name (code units). */
  entries: readonly SkillEntry[];
  find: (name: string) => SkillEntry | undefined;
  /** Whose the skill of this name is, in this view: a tenant's own skill lies over the deployment's. */
  layerOf: (name: string) => SkillLayer;
  /** The body, as bundled. Throws `skillContentMissing` where KV does not have it. */
  body: (entry: SkillEntry) => Promise<string>;
  /** A resource's bytes, unharmed. Throws `skillContentMissing`. */
  resource: (resource: SkillResource) => Promise<Uint8Array>;
}

/** For whom a view is: the tenant's skills lie over the deployment's, and a canary is chosen by session. */
export interface SkillScope {
  tenant: string;
  /** Null outside a session (the listing, a preview): then the release that most sessions get. */
  session: string | null;
}

/** Where views come from. */
export interface SkillSource {
  /** The current release's view. Never throws: a failure is a view with `fault`. */
  view: (scope: SkillScope) => Promise<SkillView>;
}

/** A source bound to one session. */
export interface SkillReader {
  view: () => Promise<SkillView>;
}
