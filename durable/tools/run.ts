/**
 * One call's way: find the tool, check the arguments, run it under its time limit, shape the result. Every failure
 * is a result with a stable code that the model reads; nothing that a tool does ends the turn.
 */
import { invalidArguments, PerchError, unknownTool } from '../errors.ts';
import type { SkillView } from '../skills/types.ts';
import { startTimeLimit, untilAborted, type Wait } from '../time-limit.ts';
import type { ContentBlock, ToolCallBlock } from '../transcript/index.ts';
import type { ToolContext, ToolDefinition, ToolFacts, ToolOutput } from './types.ts';

/** Enough for a slow request to another service; tools that need more say so. */
const TOOL_TIMEOUT_MS = 60_000;
const SHOWN_CHARS = 500;

export interface ToolResult {
  content: ContentBlock[];
  error?: string;
  facts?: ToolFacts;
}

/** Never throws. `context.signal` is the turn's; the tool gets one that its own time limit fires too. */
export async function runTool(
  call: ToolCallBlock,
  tools: ReadonlyMap<string, ToolDefinition>,
  context: ToolContext,
  wait: Wait,
): Promise<ToolResult> {
  const limit = startTimeLimit(tools.get(call.name)?.timeoutMs ?? TOOL_TIMEOUT_MS, wait);
  const signal = AbortSignal.any([context.signal, limit.signal]);
  try {
    const tool = tools.get(call.name);
    if (!tool) throw describeUnknown(call.name, tools, context.skills);
    const input = checkArguments(tool, call);
    return toResult(await untilAborted(tool.run(input, { ...context, signal }), signal));
  } catch (error) {
    if (context.signal.aborted) return failed('aborted', `${call.name} was stopped: the turn was cancelled.`);
    if (limit.signal.aborted)
      return failed('tool_timeout', `${call.name} did not answer within its time limit.`);
    if (error instanceof PerchError) return failed(error.data.code, error.data.detail);
    return failed('tool_failed', `${call.name} failed: ${describeError(error)}`);
  } finally {
    limit.end();
  }
}

function checkArguments(tool: ToolDefinition, call: ToolCallBlock): unknown {
  if (call.malformed !== undefined) {
    throw invalidArguments(
      `The arguments of ${call.name} are not a JSON object: ${call.malformed.slice(0, SHOWN_CHARS)}`,
    );
  }
  const parsed = tool.input.safeParse(call.input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`,
  );
  throw invalidArguments(`The arguments of ${call.name} are not valid. ${issues.join('; ')}`);
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

function toResult(output: ToolOutput): ToolResult {
  if (typeof output !== 'string') return output;
  return { content: [{ type: 'text', text: output === '' ? '(no output)' : output }] };
}

function failed(code: string, text: string): ToolResult {
  return { content: [{ type: 'text', text: `${code}: ${text}` }], error: code };
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
