/**
 * One call's way: find the tool, check the arguments, run it under its time limit, shape the result. Every failure
 * is a result with a stable code that the model reads; nothing that a tool does ends the turn.
 */
import { PerchError } from '../errors.ts';
import { startTimeLimit, untilAborted, type Wait } from '../time-limit.ts';
import type { ContentBlock, ToolCallBlock } from '../transcript/index.ts';
import { spillResult } from '../workspace/index.ts';
import { checkCall } from './check.ts';
import { describeFailure } from './describe-failure.ts';
import type { CheckedCall, ToolContext, ToolDefinition, ToolEvent, ToolFacts, ToolOutput } from './types.ts';

/** Enough for a slow request to another service; tools that need more say so. */
const TOOL_TIMEOUT_MS = 60_000;

export interface ToolResult {
  content: ContentBlock[];
  error?: string;
  facts?: ToolFacts;
  events?: readonly ToolEvent[];
}

/** Never throws. `context.signal` is the turn's; the tool gets one that its own time limit fires too. */
export async function runTool(
  call: ToolCallBlock,
  tools: ReadonlyMap<string, ToolDefinition>,
  context: ToolContext,
  wait: Wait,
): Promise<ToolResult> {
  const checked = checkCall(call, tools, context.skills);
  if ('error' in checked) return toFailed(checked.error.data.code, checked.error.data.detail);
  return runChecked(checked, context, wait);
}

async function runChecked(call: CheckedCall, context: ToolContext, wait: Wait): Promise<ToolResult> {
  const { tool, name } = call;
  const limit = startTimeLimit(tool.timeoutMs ?? TOOL_TIMEOUT_MS, wait);
  const signal = AbortSignal.any([context.signal, limit.signal]);
  try {
    const output = await untilAborted(tool.run(call.input, { ...context, signal }), signal);
    return shapeResult(toResult(output), context, tool.whole === true);
  } catch (error) {
    if (context.signal.aborted) return toFailed('aborted', `${name} was stopped: the turn was cancelled.`);
    if (limit.signal.aborted)
      return toFailed('tool_timeout', `${name} did not answer within its time limit.`);
    if (error instanceof PerchError) return toFailed(error.data.code, error.data.detail);
    return shapeResult(toFailed('tool_failed', `${name} failed: ${describeFailure(error)}`), context, false);
  } finally {
    limit.end();
  }
}

export function toFailed(code: string, text: string): ToolResult {
  return { content: [{ type: 'text', text: `${code}: ${text}` }], error: code };
}

function toResult(output: ToolOutput): ToolResult {
  if (typeof output !== 'string') return output;
  return { content: [{ type: 'text', text: output === '' ? '(no output)' : output }] };
}

/**
 * Text as every provider takes it, and no more of it than a model should read at once: what is over the limit is kept
 * whole among the session's files, and the model gets a preview with the path.
 */
function shapeResult(result: ToolResult, { workspace, call }: ToolContext, isWhole: boolean): ToolResult {
  const content = result.content.map((block, i): ContentBlock => {
    if (block.type !== 'text') return block;
    const text = block.text.toWellFormed();
    if (isWhole) return { ...block, text };
    return { ...block, text: spillResult(workspace, i === 0 ? call : `${call}-${i + 1}`, text) };
  });
  return { ...result, content };
}
