/** What the loop asks of models. The streaming interface is the AI SDK's provider interface. */
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { AssistantBlock, SurfaceEvent, Usage } from '../transcript/events.ts';
import type { ModelOptions } from '../prompt/types.ts';

/** A route's model, ready to stream. */
export interface ResolvedModel {
  provider: string;
  model: string;
  adapter: LanguageModelV4;
  /** Whether content of this media type can be sent; what cannot is told to the model as a line of text. */
  accepts: (mediaType: string) => boolean;
}

/** Resolves a route. Throws `unknownModel` (no such provider) and `modelNotConfigured` (no credentials). */
export type ModelResolver = (provider: string, model: string) => ResolvedModel;

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema, draft 7. */
  input: Record<string, unknown>;
}

/** A request as the log holds it: its header and the surface. */
export interface ModelRequest {
  system: string;
  tools: readonly ToolSchema[];
  options: ModelOptions;
  surface: readonly SurfaceEvent[];
  readBlob: (digest: string) => Uint8Array;
}

export type CallOptions = LanguageModelV4CallOptions;

/** A piece of a streaming answer, as it is shown to people before the message is committed. */
export interface Delta {
  kind: 'text' | 'reasoning';
  text: string;
}

export interface ModelAnswer {
  content: AssistantBlock[];
  /** The provider's reason in the interface's words: `stop`, `length`, `tool-calls`, … */
  finish: string;
  usage: Usage;
  /** The model that the provider says answered, else the one asked. */
  model: string;
}
