export { assemble, type PromptPlan, planPrompt, settleCall } from './assemble.ts';
export { harness, loopFacts, PERSONA_ORDER, PERSONA_SECTION } from './builtin.ts';
export { type BuiltHeader, createHeaderBuilder, type HeaderParts } from './header.ts';
export { createLayer, type Layer, type Owned, orderTools } from './registry.ts';
export { render } from './render.ts';
export { estimateTokens } from './tokens.ts';
export * from './types.ts';
export { checkPersona, DEFAULT_CWD, describePrompt, previewPrompt } from './view.ts';
export { type AtStep, type PromptView, promptView } from './view-shape.ts';
