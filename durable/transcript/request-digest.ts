/**
 * The digest of what a model was asked with: the header's digests over a chain of the surface's messages. A request
 * that is rebuilt from the log has the digest that was logged before it was sent, or the log is not the truth. The
 * chain costs a step only its new messages. Pure.
 */
import { sha256Hex } from '../storage/digest.ts';
import {
  type AssistantBlock,
  assertNever,
  type ContentBlock,
  type RequestHeader,
  type SurfaceEvent,
  type UserMessage,
} from './events.ts';

/** The chain over no message. */
export const EMPTY_CHAIN = sha256Hex('');

/** One message further. Only what a model sees is in it: no seq, no time, no source. */
export function extendChain(chain: string, event: SurfaceEvent | UserMessage): string {
  return sha256Hex(`${chain}\n${JSON.stringify(describeVisible(event))}`);
}

export function digestRequest(header: RequestHeader, chain: string): string {
  const { provider, model, system, tools, config } = header;
  return sha256Hex(JSON.stringify([provider, model, system.digest, tools.digest, config, chain]));
}

/** Lists, not objects: a message has one digest whether it was just made or read back with its members in another order. */
function describeVisible(event: SurfaceEvent | UserMessage): unknown[] {
  if ('role' in event) return ['user', ...event.content.map(describeBlock)];
  switch (event.type) {
    case 'user/message':
      return ['user', ...event.message.content.map(describeBlock)];
    case 'assistant/message':
      return ['assistant', ...event.content.map(describeBlock)];
    case 'tool/result':
      return ['tool', event.call, event.name, event.error ?? null, ...event.content.map(describeBlock)];
    default:
      return assertNever(event);
  }
}

function describeBlock(block: ContentBlock | AssistantBlock): unknown[] {
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return [block.type, block.text, 'meta' in block ? (block.meta ?? null) : null];
    case 'image':
    case 'file':
      return [block.type, block.media_type, block.blob, block.name ?? null];
    case 'tool-call':
      return [block.type, block.id, block.name, block.input, block.malformed ?? null, block.meta ?? null];
    default:
      return assertNever(block);
  }
}
