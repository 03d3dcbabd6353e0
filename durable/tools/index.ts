export { checkCall } from './check.ts';
export { judgeAlone, judgeCall } from './judge.ts';
export { type ApprovalRule, peopleTools, requireApproval } from './people/index.ts';
export { runTool, type ToolResult, toFailed } from './run.ts';
export { shellTools } from './shell/index.ts';
export { timeTools } from './time/index.ts';
export { todoTools } from './todo/index.ts';
export {
  defineTool,
  type ToolContext,
  type ToolDefinition,
  type ToolGuard,
  type ToolOutput,
} from './types.ts';
