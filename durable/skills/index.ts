/**
 * Skills: a body of instructions that a person names with `/name`, for certain, or that the model loads from a
 * catalog (DESIGN section 6). The format's parser is the bundler's alone and is not exported here, so that the worker
 * does not carry YAML.
 */
import type { Plugin } from '../plugins.ts';
import { catalogLane, skillLane } from './lanes.ts';
import { skillTool } from './tool.ts';

export { findGestures, scanGestures } from './gesture.ts';
export { HOST_COMMANDS, listUserInvocable, type SkillListing } from './invocable.ts';
export { contentKey, manifestKey, POINTER_KEY } from './manifest.ts';
export { createSkillSource, type SkillKv, type SkillSourceOptions, skillSourceFor } from './source.ts';
export { SKILL_TOOL } from './tool.ts';
export type { SkillEntry, SkillResource, SkillSource, SkillView } from './types.ts';

export const skillsPlugin: Plugin = { name: 'skills', tools: [skillTool], lanes: [catalogLane, skillLane] };
