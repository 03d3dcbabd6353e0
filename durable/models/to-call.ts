/**
 * A request as the log holds it, in the words of the provider interface. Equal events give equal messages, and more
 * events only append, so that a request's prompt is a prefix of the next one's: providers bill a cached prefix at a
 * tenth (DESIGN section 10).
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { ModelOptions } from '../prompt/types.ts';
import {
  type AssistantBlock,
  assertNever,
  type LogEventOf,
  type SurfaceEvent,
} from '../transcript/events.ts';
import { type BlobReader, toToolOutput, toUserParts } from './content.ts';
import type { CallOptions, ModelRequest, RequestFrame, ResolvedModel, ToolSchema } from './types.ts';

type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type AssistantPart = AssistantMessage['content'][number];
type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

export interface PromptBuilder {
  readonly model: ResolvedModel;
  /** Events of the surface converted so far. */
  readonly length: number;
  /** Converts the next events of the surface: work in proportion to them, not to what is there. */
  append: (events: readonly SurfaceEvent[]) => void;
  /** Forgets everything: for a surface whose past was replaced. Another model needs another builder. */
  reset: () => void;
  /** The call for what was appended. The prompt array is the builder's own: it grows with the next `append`. */
  toCall: (request: RequestFrame) => CallOptions;
}

/** Converts a whole request at once. */
export function toCallOptions(request: ModelRequest, model: ResolvedModel): CallOptions {
  const builder = createPromptBuilder(model, request.readBlob);
  builder.append(request.surface);
  return builder.toCall(request);
}

export function createPromptBuilder(model: ResolvedModel, readBlob: BlobReader): PromptBuilder {
  /** The system message stands at 0, so that a call needs no copy of the rest. */
  const prompt: LanguageModelV4Message[] = [toSystemMessage('', model)];
  let length = 0;
  let openStep: { turn: number; step: number; message: ToolMessage } | null = null;
  let tools: { from: readonly ToolSchema[]; to: LanguageModelV4FunctionTool[] } = { from: [], to: [] };

  function appendResult(event: LogEventOf<'tool/result'>): void {
    const part = toResultPart(event, model, readBlob);
    if (openStep?.turn === event.turn && openStep.step === event.step) {
      openStep.message.content.push(part);
      return;
    }
    const message: ToolMessage = { role: 'tool', content: [part] };
    openStep = { turn: event.turn, step: event.step, message };
    prompt.push(message);
  }

  function appendEvent(event: SurfaceEvent): void {
    switch (event.type) {
      case 'tool/result':
        appendResult(event);
        return;
      case 'user/message':
        openStep = null;
        prompt.push({
          role: 'user',
          content: toUserParts(event.message.content, model, readBlob),
          ...(model.traits.marksSource ? { providerOptions: { perch: { ...event.message.source } } } : {}),
        });
        return;
      case 'assistant/message': {
        openStep = null;
        const content = toAssistantParts(event.content, model);
        // Providers refuse an assistant message without content (an answer that was cancelled at once).
        if (content.length > 0) prompt.push({ role: 'assistant', content });
        return;
      }
      default:
        assertNever(event);
    }
  }

  return {
    model,
    get length() {
      return length;
    },
    append(events) {
      for (const event of events) appendEvent(event);
      length += events.length;
    },
    reset() {
      prompt.length = 1;
      length = 0;
      openStep = null;
    },
    toCall(request) {
      const current = prompt[0];
      if (current?.content !== request.system) prompt[0] = toSystemMessage(request.system, model);
      if (tools.from !== request.tools)
        tools = { from: request.tools, to: request.tools.map(toFunctionTool) };
      return {
        prompt: request.system === '' ? prompt.slice(1) : prompt,
        ...(tools.to.length > 0 ? { tools: tools.to } : {}),
        ...toSettings(model.traits.marksPlace ? markPlace(request) : request.options),
      };
    },
  };
}

function toSystemMessage(system: string, model: ResolvedModel): LanguageModelV4Message {
  const { systemOptions } = model.traits;
  return {
    role: 'system',
    content: system,
    ...(systemOptions === undefined ? {} : { providerOptions: systemOptions }),
  };
}

function toFunctionTool(tool: ToolSchema): LanguageModelV4FunctionTool {
  return { type: 'function', name: tool.name, description: tool.description, inputSchema: tool.input };
}

function markPlace({ options, place }: RequestFrame): ModelOptions {
  return place
    ? { ...options, providerOptions: { ...options.providerOptions, perch: { ...place } } }
    : options;
}

/** Settings in one fixed order; only those that are set. */
function toSettings(options: ModelOptions): Omit<CallOptions, 'prompt'> {
  const { maxOutputTokens, temperature, topP, stopSequences, reasoning, providerOptions } = options;
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function toAssistantParts(blocks: readonly AssistantBlock[], model: ResolvedModel): AssistantPart[] {
  const parts: AssistantPart[] = [];
  for (const block of blocks) {
    const options = toProviderOptions(block.meta);
    switch (block.type) {
      case 'text':
        // Anthropic refuses a text block of nothing but white space.
        if (block.text.trim() !== '') parts.push({ type: 'text', text: block.text, ...options });
        break;
      case 'reasoning':
        if (isOwnReasoning(block.meta, model))
          parts.push({ type: 'reasoning', text: block.text, ...options });
        break;
      case 'tool-call':
        parts.push({
          type: 'tool-call',
          toolCallId: block.id,
          toolName: block.name,
          input: block.malformed === undefined ? block.input : {},
          ...options,
        });
        break;
      default:
        assertNever(block);
    }
  }
  return parts;
}

/** Reasoning that another provider signed is of no use to this one, and some refuse it. */
function isOwnReasoning(meta: AssistantBlock['meta'], model: ResolvedModel): boolean {
  return meta === undefined || Object.hasOwn(meta, model.traits.metaKey);
}

function toProviderOptions(meta: AssistantBlock['meta']): { providerOptions?: SharedV4ProviderOptions } {
  if (meta === undefined) return {};
  const options: SharedV4ProviderOptions = {};
  for (const [provider, value] of Object.entries(meta)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) options[provider] = value;
  }
  return { providerOptions: options };
}

function toResultPart(
  event: LogEventOf<'tool/result'>,
  model: ResolvedModel,
  readBlob: BlobReader,
): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: event.call,
    toolName: event.name,
    output: toToolOutput(event, model, readBlob),
  };
}
