import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';

export type EventFrame = Extract<Frame, { frame: 'event' }>;
export type DeltaFrame = Extract<Frame, { frame: 'delta' }>;

const frame: z.ZodType<Frame> = z.discriminatedUnion('frame', [
  z.object({
    frame: z.literal('event'),
    seq: z.number(),
    type: z.string(),
    turn: z.number().nullable(),
    data: z.string(),
  }),
  z.object({
    frame: z.literal('delta'),
    turn: z.number(),
    step: z.number(),
    attempt: z.number(),
    offset: z.number(),
    kind: z.enum(['text', 'reasoning']),
    text: z.string(),
  }),
  z.object({ frame: z.literal('ready'), last_seq: z.number() }),
]);

/** A socket's message as a frame. Throws where it is none. */
export function parseFrame(message: string): Frame {
  return frame.parse(JSON.parse(message));
}
