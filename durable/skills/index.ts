/**
 * Skills: a body of instructions that a person names with `/name`, for certain, or that the model loads from a
 * catalog (DESIGN section 6). The format's parser is the bundler's alone and is not exported here, so that the worker
 * does not carry YAML.
 */
import type { Plugin } from '../plugins.ts';
import { catalogLane, skillLane } from './lanes.ts';
import { resourceTool } from './resource-tool.ts';
import { skillTool } from './tool.ts';

export { isSkillName, NAME_RULE } from './gesture.ts';
export { HOST_COMMANDS, listUserInvocable } from './invocable.ts';
export {
  buildManifest,
  bundlePointer,
  contentKey,
  manifest,
  manifestKey,
  POINTER_KEY,
  pointTo,
  tenantPointerKey,
} from './manifest.ts';
export { skillSourceFor } from './source.ts';
export { loadedSkill, SKILL_TOOL } from './tool.ts';
export type { SkillEntry, SkillLayer, SkillResource, SkillSource, SkillView } from './types.ts';

export const skillsPlugin: Plugin = {
  name: 'skills',
  tools: [skillTool, resourceTool],
  lanes: [catalogLane, skillLane],
};
