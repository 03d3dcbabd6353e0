/** What the loop asks of models. The streaming interface is the AI SDK's provider interface. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { ModelOptions } from '../prompt/types.ts';
import type { AssistantBlock, SurfaceEvent, Usage } from '../transcript/events.ts';

/** What a provider's models have in common, as far as a prompt depends on it. */
export interface ProviderTraits {
  /** The name under which the adapter reads and writes its own metadata; reasoning of others is not sent to it. */
  metaKey: string;
  /** Provider options of the system message, the same in every request (Anthropic's cache breakpoint). */
  systemOptions?: SharedV4ProviderOptions;
  /** Media are also taken inside tool results. */
  toolResultMedia?: boolean;
  /** Messages carry their source as `providerOptions.perch`: for a model inside the worker, never for the wire. */
  marksSource?: boolean;
  /** Requests carry their place as `providerOptions.perch`: for a model that serves a recording. */
  marksPlace?: boolean;
}

/** Which request of its session one is. All count from 1. */
export interface RequestPlace {
  turn: number;
  step: number;
  attempt: number;
}

/** A route's model, ready to stream. */
export interface ResolvedModel {
  provider: string;
  model: string;
  adapter: LanguageModelV4;
  traits: ProviderTraits;
  /** Whether content of this media type can be sent; what cannot is told to the model as a line of text. */
  accepts: (mediaType: string) => boolean;
  /** The text without this provider's credentials. */
  redact: (text: string) => string;
}

/**
 * Resolves a route; a route that was resolved before answers without a promise. Throws or rejects with
 * `unknownModel` (no such provider) and `modelNotConfigured` (no credentials).
 */
export type ModelResolver = (provider: string, model: string) => ResolvedModel | Promise<ResolvedModel>;

/** The list of tools as it is kept beside a request's header. */
export const storedToolSchemas = z.array(
  z.object({ name: z.string(), description: z.string(), input: z.looseObject({}) }),
);

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema, draft 7. */
  input: LanguageModelV4FunctionTool['inputSchema'];
}

/** A request as the log holds it: its header and the surface. */
export interface ModelRequest {
  system: string;
  tools: readonly ToolSchema[];
  options: ModelOptions;
  /** Told to models whose traits ask for it, and to no other. */
  place?: RequestPlace;
  surface: readonly SurfaceEvent[];
  readBlob: (digest: string) => Uint8Array;
}

/** A request but for its messages, which a prompt builder has taken in already. */
export type RequestFrame = Pick<ModelRequest, 'system' | 'tools' | 'options' | 'place'>;

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
