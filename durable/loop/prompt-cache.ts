/** The surface in the provider's words, kept between steps: a step converts only what is new. */
import type { CallOptions, ModelRequest, ResolvedModel } from '../models/index.ts';
import { createPromptBuilder, type PromptBuilder } from '../models/index.ts';
import type { Surface } from '../transcript/index.ts';

export interface PromptCache {
  toCall: (model: ResolvedModel, request: Pick<ModelRequest, 'system' | 'tools' | 'options'>) => CallOptions;
}

export function createPromptCache(surface: Surface, readBlob: (digest: string) => Uint8Array): PromptCache {
  let builder: PromptBuilder | null = null;
  let generation = -1;
  return {
    toCall(model, request) {
      if (builder?.model !== model || generation !== surface.generation()) {
        builder = createPromptBuilder(model, readBlob);
        generation = surface.generation();
      }
      builder.append(surface.events().slice(builder.length));
      return builder.toCall(request);
    },
  };
}
