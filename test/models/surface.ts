/** Surfaces written down for the tests of this folder. */

import { z } from 'zod';
import type { ResolvedModel } from '../../durable/models/index.ts';
import { createOfflineModel } from '../../durable/models/offline.ts';
import type { ProviderTraits } from '../../durable/models/types.ts';
import {
  type AssistantBlock,
  type ContentBlock,
  eventBody,
  type LogEventOf,
  type MessageSource,
  NO_USAGE,
  type SurfaceEvent,
  userMessage,
} from '../../durable/transcript/events.ts';

const seqOf = z.number().int().positive().brand<'Seq'>();

function place(seq: number): { seq: LogEventOf<'user/message'>['seq']; at: number } {
  return { seq: seqOf.parse(seq), at: 0 };
}

export function said(
  seq: number,
  content: string | ContentBlock[],
  source: MessageSource = { kind: 'user' },
): SurfaceEvent {
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const message = userMessage.parse({ id: `msg_${seq}`, role: 'user', source, content: blocks });
  return { type: 'user/message', turn: 1, step: 1, message, surface: 'append', ...place(seq) };
}

export function answered(seq: number, content: AssistantBlock[], step = 1): SurfaceEvent {
  const head = { turn: 1, step, attempt: 1, finish: 'stop', usage: NO_USAGE, model: 'm' };
  return { type: 'assistant/message', ...head, content, surface: 'append', ...place(seq) };
}

export function resulted(
  seq: number,
  call: string,
  content: string | ContentBlock[],
  options: { step?: number; error?: string; name?: string } = {},
): SurfaceEvent {
  const { step = 1, error, name = 'clock' } = options;
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const body = eventBody.parse({
    type: 'tool/result',
    turn: 1,
    step,
    call,
    name,
    content: blocks,
    ...(error === undefined ? {} : { error }),
    surface: 'append',
  });
  if (body.type !== 'tool/result') throw new Error('it is a result');
  return { ...body, ...place(seq) };
}

/** A model that nobody calls. */
export function quietModel(accepts: string[] = [], traits: Partial<ProviderTraits> = {}): ResolvedModel {
  return {
    provider: 'quiet',
    model: 'm',
    adapter: createOfflineModel('m', 0),
    traits: { metaKey: 'quiet', ...traits },
    accepts: (mediaType) => accepts.includes(mediaType),
    redact: (text) => text,
  };
}

export function readNoBlob(digest: string): Uint8Array {
  throw new Error(`no blob ${digest}`);
}
