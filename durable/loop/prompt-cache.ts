/** The surface in the provider's words, as a digest and in size, kept between steps: a step works on what is new. */
import {
  type CallOptions,
  createPromptBuilder,
  type PromptBuilder,
  type RequestFrame,
  type ResolvedModel,
} from '../models/index.ts';
import { estimateTokens } from '../prompt/index.ts';
import {
  type AssistantBlock,
  assertNever,
  type ContentBlock,
  digestRequest,
  EMPTY_CHAIN,
  extendChain,
  type RequestHeader,
  type Surface,
  type SurfaceEvent,
  type UserMessage,
} from '../transcript/index.ts';

export interface PromptCache {
  toCall: (model: ResolvedModel, request: RequestFrame) => CallOptions;
  /** The digest of a request with this header over the surface and the messages that are about to be on it. */
  digest: (header: RequestHeader, coming: readonly UserMessage[]) => string;
  /** What such a request sends, in tokens, as an estimate. */
  measure: (header: RequestHeader, coming: readonly UserMessage[]) => number;
}

/** What providers bill for a picture of the usual size, about. */
const MEDIA_TOKENS = 1_600;

export function createPromptCache(surface: Surface, readBlob: (digest: string) => Uint8Array): PromptCache {
  let builder: PromptBuilder | null = null;
  let builtFor = -1;
  let chain = { digest: EMPTY_CHAIN, tokens: 0, length: 0, generation: -1 };

  const followChain = (): typeof chain => {
    const generation = surface.generation();
    if (chain.generation !== generation) chain = { digest: EMPTY_CHAIN, tokens: 0, length: 0, generation };
    const events = surface.events();
    if (events.length === chain.length) return chain;
    const fresh = events.slice(chain.length);
    chain = {
      digest: fresh.reduce(extendChain, chain.digest),
      tokens: fresh.reduce((sum, event) => sum + countTokens(event), chain.tokens),
      length: events.length,
      generation,
    };
    return chain;
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
    digest: (header, coming) => digestRequest(header, coming.reduce(extendChain, followChain().digest)),
    measure: (header, coming) =>
      coming.reduce((sum, message) => sum + countTokens(message), followChain().tokens) +
      header.system.tokens +
      header.tools.tokens,
  };
}

function countTokens(event: SurfaceEvent | UserMessage): number {
  if ('role' in event) return countBlocks(event.content);
  return countBlocks(event.type === 'user/message' ? event.message.content : event.content);
}

function countBlocks(blocks: readonly (ContentBlock | AssistantBlock)[]): number {
  return blocks.reduce((sum, block) => sum + countBlock(block), 0);
}

function countBlock(block: ContentBlock | AssistantBlock): number {
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(block.text);
    case 'image':
    case 'file':
      return MEDIA_TOKENS;
    case 'tool-call':
      return estimateTokens(block.name + JSON.stringify(block.input));
    default:
      return assertNever(block);
  }
}
