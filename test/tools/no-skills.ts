import type { SkillView } from '../../durable/skills/types.ts';

/** A view in which there is no skill. */
export const NO_SKILLS: SkillView = {
  manifest: null,
  tenantManifest: null,
  entries: [],
  find: () => undefined,
  layerOf: () => 'deployment',
  body: () => Promise.reject(new Error('there is no skill')),
  resource: () => Promise.reject(new Error('there is no skill')),
};
