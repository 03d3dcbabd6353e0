/** The `skill_resource` tool: the files beside a skill's instructions, read one by one and on demand. */
import { Buffer, isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { skillResourceTooLarge, skillResourceUnknown } from '../errors.ts';
import { defineTool, type ToolOutput } from '../tools/types.ts';
import { isResourcePath } from './manifest.ts';
import { findLoadable } from './tool.ts';
import type { SkillEntry, SkillResource } from './types.ts';

/** Of a file that is text: what the longest SKILL.md may have too. */
const MAX_TEXT_BYTES = 256 * 1024;
/** Of another file: its base64 is a third longer, and so as long as the longest text. */
const MAX_BINARY_BYTES = 192 * 1024;

const DESCRIPTION = `Reads one file of a skill. The <skill_content> block of a skill names its files: give the skill's name \
and a path exactly as it stands there. Read a file when the skill's instructions or your task call for it, not all of them \
beforehand. Text is returned as it is. A file that is not text is returned as base64, after a line that says so. Text is \
read up to ${MAX_TEXT_BYTES} bytes and other files up to ${MAX_BINARY_BYTES}; a longer file is refused, never cut.`;

export const resourceTool = defineTool({
  name: 'skill_resource',
  description: DESCRIPTION,
  input: z.object({
    skill: z.string().describe("The skill's name, without a slash."),
    path: z.string().describe("A path from the skill's list of files."),
  }),
  parallelSafe: true,
  whole: true,
  idempotent: true,
  // By what a release allows and not by what was invoked so far: the tools of a session change with a release alone.
  available: ({ skills }) => skills.entries.some(isOpenToSomebody),
  async run({ skill, path }, { skills, invokedSkills }) {
    // The log is asked only where the answer depends on it.
    const entry = findLoadable(skills, skill, (name) => invokedSkills().has(name));
    const resource = findResource(entry, path);
    if (resource.bytes > MAX_TEXT_BYTES) throw refuseLength(resource, MAX_TEXT_BYTES);
    return showFile(resource, await skills.resource(resource));
  },
});

function isOpenToSomebody({ resources, modelInvocable, userInvocable }: SkillEntry): boolean {
  return resources.length > 0 && (modelInvocable || userInvocable);
}

/** Only what the skill lists is there to be read, so no path leads out of it. Throws `skill_resource_unknown`. */
function findResource({ name, resources }: SkillEntry, path: string): SkillResource {
  const found = resources.find((resource) => resource.path === path);
  if (found !== undefined) return found;
  const files = resources.map((resource) => resource.path);
  const list = files.length === 0 ? 'It has none.' : `Its files: ${files.join(', ')}.`;
  const why = isResourcePath(path)
    ? `The skill "${name}" has no file of this path.`
    : `A path is relative to the folder of the skill "${name}" and stays in it.`;
  throw skillResourceUnknown(`${why} ${list}`, { files });
}

function showFile(resource: SkillResource, bytes: Uint8Array): ToolOutput {
  if (isUtf8(bytes) && !bytes.includes(0)) {
    return bytes.byteLength === 0
      ? 'The file is empty.'
      : new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes);
  }
  if (bytes.byteLength > MAX_BINARY_BYTES) throw refuseLength(resource, MAX_BINARY_BYTES);
  return `This file is not text. Its ${bytes.byteLength} bytes in base64:\n${Buffer.from(bytes).toString('base64')}`;
}

function refuseLength({ path, bytes }: SkillResource, limit: number): Error {
  const kind = limit === MAX_TEXT_BYTES ? 'text' : 'a file that is not text';
  return skillResourceTooLarge(`"${path}" has ${bytes} bytes; ${kind} is read up to ${limit}.`, {
    bytes,
    limit,
  });
}
