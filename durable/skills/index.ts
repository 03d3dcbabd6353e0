/**
 * Skills: a body of instructions that a person names with `/name`, for certain, or that the model loads from a
 * catalog (DESIGN section 6). The format's parser is the bundler's alone and is not exported here, so that the worker
 * does not carry YAML.
 */
import type { Plugin } from '../plugins.ts';
import { catalogLane, skillLane } from './lanes.ts';
import { skillTool } from './tool.ts';

export { HOST_COMMANDS, listUserInvocable } from './invocable.ts';
export { POINTER_KEY } from './manifest.ts';
export { skillSourceFor } from './source.ts';
export type { SkillEntry, SkillResource, SkillSource, SkillView } from './types.ts';

export const skillsPlugin: Plugin = { name: 'skills', tools: [skillTool], lanes: [catalogLane, skillLane] };
