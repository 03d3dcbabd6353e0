export { assemble, type PromptPlan, planPrompt, settleCall } from './assemble.ts';
export { createLayer, type Layer, orderTools, UNLISTED_TOOLS } from './registry.ts';
export { render } from './render.ts';
export { estimateTokens } from './tokens.ts';
export * from './types.ts';
export {
  checkPersona,
  DEFAULT_CWD,
  describePrompt,
  type PreviewRequest,
  type PromptView,
  previewPrompt,
  promptView,
} from './view.ts';
