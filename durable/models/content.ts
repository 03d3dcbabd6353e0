/**
 * Content blocks as a model can take them: media as bytes where the model accepts them, files of text as text with a
 * line that names them, and anything else as a line that says what is not shown. A pure function of the block and
 * the model, so that the same log gives the same bytes.
 */
import { Buffer } from 'node:buffer';
import type {
  LanguageModelV4FilePart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { assertNever, type ContentBlock, type LogEventOf } from '../transcript/events.ts';
import type { ResolvedModel } from './types.ts';

export type BlobReader = (digest: string) => Uint8Array;

type BlobBlock = Exclude<ContentBlock, { type: 'text' }>;
type Part = LanguageModelV4TextPart | LanguageModelV4FilePart;

const TEXTUAL = new Set([
  'application/json',
  'application/javascript',
  'application/toml',
  'application/xml',
  'application/yaml',
]);

export function toUserParts(
  blocks: readonly ContentBlock[],
  model: ResolvedModel,
  readBlob: BlobReader,
): Part[] {
  return blocks.map((block) => toPart(block, model, readBlob, 'this model does not take it'));
}

export function toToolOutput(
  event: LogEventOf<'tool/result'>,
  model: ResolvedModel,
  readBlob: BlobReader,
): LanguageModelV4ToolResultOutput {
  const taking = model.traits.toolResultMedia ? model : { ...model, accepts: () => false };
  const reason = model.traits.toolResultMedia
    ? 'this model does not take it'
    : 'this model does not take it in tool results';
  const parts = event.content.map((block) => toPart(block, taking, readBlob, reason));
  if (parts.some((part) => part.type === 'file')) return { type: 'content', value: parts };
  const value = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  return event.error === undefined ? { type: 'text', value } : { type: 'error-text', value };
}

function toPart(
  block: ContentBlock,
  model: Pick<ResolvedModel, 'accepts'>,
  readBlob: BlobReader,
  why: string,
): Part {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'file': {
      const mediaType = parseMediaType(block.media_type);
      if (model.accepts(mediaType)) return toFilePart(block, mediaType, readBlob);
      if (isTextual(mediaType)) return { type: 'text', text: toInlineText(block, readBlob) };
      return { type: 'text', text: `[${describeBlob(block)} is not shown: ${why}]` };
    }
    default:
      return assertNever(block);
  }
}

/** Base64 here, once, and not by the adapter in every request that carries the file again. */
function toFilePart(block: BlobBlock, mediaType: string, readBlob: BlobReader): LanguageModelV4FilePart {
  const bytes = readBlob(block.blob);
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data },
    ...(block.name === undefined ? {} : { filename: block.name }),
  };
}

function toInlineText(block: BlobBlock, readBlob: BlobReader): string {
  return `[${describeBlob(block)}]\n${new TextDecoder().decode(readBlob(block.blob))}`;
}

/** `image "x.png" (image/png, 12345 bytes)`; a name is quoted, so that it cannot end the line. */
function describeBlob(block: BlobBlock): string {
  const name = block.name === undefined ? '' : ` ${JSON.stringify(block.name)}`;
  return `${block.type}${name} (${parseMediaType(block.media_type)}, ${block.bytes} bytes)`;
}

/** The type without its parameters, in lower case (RFC 9110, 8.3.1). */
function parseMediaType(mediaType: string): string {
  return (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function isTextual(mediaType: string): boolean {
  return mediaType.startsWith('text/') || TEXTUAL.has(mediaType) || /\+(?:json|xml|yaml)$/.test(mediaType);
}
