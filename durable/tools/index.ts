export { runTool, type ToolResult } from './run.ts';
export { timeTools } from './time/index.ts';
export { defineTool, type ToolContext, type ToolDefinition, type ToolOutput } from './types.ts';
