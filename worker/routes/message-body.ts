/** What a message may be, as it arrives. Who speaks is never in it: routes say that. */
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { forgedSource } from '../../durable/errors.ts';
import type { IncomingBlock } from '../../durable/rpc.ts';
import { delivery } from '../../durable/transcript/events.ts';

const MAX_BLOCKS = 100;

/** RFC 6838 names, without parameters. */
const mediaType = (pattern: RegExp) => z.string().max(127).regex(pattern, 'is no media type for this block');
export const base64 = z
  .string()
  .min(1)
  .refine((data) => data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data), 'is no base64')
  .meta({ contentEncoding: 'base64' });
const name = z.string().min(1).max(255).optional();

const textBlock = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });
const imageBlock = z.strictObject({
  type: z.literal('image'),
  media_type: mediaType(/^image\/[a-z0-9][a-z0-9!#$&^_.+-]*$/),
  data: base64,
  name,
});
const fileBlock = z.strictObject({
  type: z.literal('file'),
  media_type: mediaType(/^[a-z]+\/[a-z0-9][a-z0-9!#$&^_.+-]*$/),
  data: base64,
  name,
});

export const messageBody = z
  .strictObject({
    text: z.string().min(1).optional(),
    content: z
      .array(z.discriminatedUnion('type', [textBlock, imageBlock, fileBlock]))
      .min(1)
      .max(MAX_BLOCKS)
      .optional(),
    delivery: delivery.default('followup'),
  })
  .refine(({ text, content }) => (text === undefined) !== (content === undefined), {
    error: 'either `text` or `content`, and not both',
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['content'] }] });
export type MessageBody = z.infer<typeof messageBody>;

/** Throws `forged_source` where the body, or a block in it, says who is speaking. */
export function refuseSource(json: unknown): void {
  if (!isRecord(json)) return;
  const blocks = Array.isArray(json['content']) ? json['content'] : [];
  if ('source' in json || blocks.some((block) => isRecord(block) && 'source' in block)) {
    throw forgedSource('Leave `source` out: the API key says who is speaking.');
  }
}

/** The body's blocks for the object: base64 as bytes, `text` as one block. */
export function readBlocks({ text, content }: MessageBody): IncomingBlock[] {
  if (content === undefined) return [{ type: 'text', text: text ?? '' }];
  return content.map((block) => {
    if (block.type === 'text') return block;
    const { type, media_type, data } = block;
    return { type, media_type, name: block.name ?? null, bytes: new Uint8Array(Buffer.from(data, 'base64')) };
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
