/** The surface in the provider's words and as a digest, kept between steps: a step works on what is new. */
import {
  type CallOptions,
  createPromptBuilder,
  type ModelRequest,
  type PromptBuilder,
  type ResolvedModel,
} from '../models/index.ts';
import {
  digestRequest,
  EMPTY_CHAIN,
  extendChain,
  type RequestHeader,
  type Surface,
  type UserMessage,
} from '../transcript/index.ts';

export interface PromptCache {
  toCall: (model: ResolvedModel, request: Pick<ModelRequest, 'system' | 'tools' | 'options'>) => CallOptions;
  /** The digest of a request with this header over the surface and the messages that are about to be on it. */
  digest: (header: RequestHeader, coming: readonly UserMessage[]) => string;
}

export function createPromptCache(surface: Surface, readBlob: (digest: string) => Uint8Array): PromptCache {
  let builder: PromptBuilder | null = null;
  let builtFor = -1;
  let chain = { digest: EMPTY_CHAIN, length: 0, generation: -1 };

  const followChain = (): string => {
    const generation = surface.generation();
    if (chain.generation !== generation) chain = { digest: EMPTY_CHAIN, length: 0, generation };
    const fresh = surface.events().slice(chain.length);
    chain = {
      digest: fresh.reduce(extendChain, chain.digest),
      length: chain.length + fresh.length,
      generation,
    };
    return chain.digest;
  };

  return {
    toCall(model, request) {
      if (builder?.model !== model || builtFor !== surface.generation()) {
        builder = createPromptBuilder(model, readBlob);
        builtFor = surface.generation();
      }
      builder.append(surface.events().slice(builder.length));
      return builder.toCall(request);
    },
    digest: (header, coming) => digestRequest(header, coming.reduce(extendChain, followChain())),
  };
}
