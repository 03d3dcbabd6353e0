/** Whether a call can be run: its tool is there, and its arguments are what the tool takes. Pure. */
import { invalidArguments, type PerchError, unknownTool } from '../errors.ts';
import type { SkillView } from '../skills/types.ts';
import type { ToolCallBlock } from '../transcript/index.ts';
import type { CheckedCall, FaultyCall, ToolDefinition } from './types.ts';

const SHOWN_CHARS = 500;

export function checkCall(
  call: ToolCallBlock,
  tools: ReadonlyMap<string, ToolDefinition>,
  skills: SkillView,
): CheckedCall | FaultyCall {
  const { id, name } = call;
  const tool = tools.get(name);
  if (!tool) return { error: describeUnknown(name, tools, skills) };
  if (call.malformed !== undefined) {
    const shown = call.malformed.slice(0, SHOWN_CHARS);
    return { error: invalidArguments(`The arguments of ${name} are not a JSON object: ${shown}`) };
  }
  const parsed = tool.input.safeParse(call.input);
  if (parsed.success) return { tool, id, name, input: parsed.data };
  const issues = parsed.error.issues.map(({ path, message }) => ({
    path: path.map(String).join('.') || 'arguments',
    message,
  }));
  const list = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return { error: invalidArguments(`The arguments of ${name} are not valid. ${list}`, { issues }) };
}

/** A skill's name called as a tool is a common slip: the error shows the call that works. */
function describeUnknown(
  name: string,
  tools: ReadonlyMap<string, ToolDefinition>,
  skills: SkillView,
): PerchError {
  if (tools.has('skill') && skills.find(name)?.modelInvocable) {
    return unknownTool(`${name} is a skill, not a tool. Load it with the tool skill: {"name": "${name}"}.`);
  }
  const known = [...tools.keys()].join(', ');
  return unknownTool(
    `There is no tool ${name}. ${known ? `There are: ${known}.` : 'There are none in this step.'}`,
  );
}
