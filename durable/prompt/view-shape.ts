/** A prompt as it is shown: a header with the texts that it names, and what the lanes added. Pure. */
import { z } from 'zod';
import { storedToolSchemas } from '../models/types.ts';
import {
  type ContentBlock,
  type MessageSource,
  type RequestHeader,
  requestHeader,
  type UserMessage,
} from '../transcript/events.ts';
import { diffHeaders, headerChange } from './diff.ts';
import { estimateTokens } from './tokens.ts';

export const atStep = z.object({ turn: z.number().int(), step: z.number().int() });
export type AtStep = z.infer<typeof atStep>;

export const promptView = requestHeader.extend({
  /** The step that this is of; null for the next one. */
  at: atStep.nullable(),
  system_text: z.string(),
  section_texts: z.array(z.object({ name: z.string(), owner: z.string(), text: z.string() })),
  tool_schemas: storedToolSchemas,
  /** What the lanes added beside what was claimed, in order. */
  injections: z.array(
    z.object({ source: z.looseObject({ kind: z.string() }), text: z.string(), tokens: z.number() }),
  ),
  /** What the header says that the one of `since` did not; null where there is none to compare with. */
  changes: z.array(headerChange).nullable(),
  since: atStep.nullable(),
});
export type PromptView = z.infer<typeof promptView>;

/** A header somewhere in the log, and the step that it was logged for. */
export interface LoggedHeader {
  at: AtStep;
  header: RequestHeader;
}

export function showPrompt(
  at: AtStep | null,
  header: RequestHeader,
  texts: { system: string; toolsJson: string },
  messages: readonly UserMessage[],
  before: LoggedHeader | null,
): PromptView {
  return {
    ...header,
    at,
    system_text: texts.system,
    section_texts: splitSections(header, texts.system),
    tool_schemas: storedToolSchemas.parse(JSON.parse(texts.toolsJson)),
    injections: messages.filter(({ source }) => !isSpeaker(source)).map(showInjection),
    changes: before && diffHeaders(before.header, header),
    since: before === null ? null : before.at,
  };
}

/** The text of each section: they stand in the header's order, a blank line apart. */
function splitSections(header: RequestHeader, system: string): PromptView['section_texts'] {
  let start = 0;
  return header.sections.map(({ name, owner, chars }) => {
    const text = system.slice(start, start + chars);
    start += chars + '\n\n'.length;
    return { name, owner, text };
  });
}

function showInjection({ source, content }: UserMessage): PromptView['injections'][number] {
  const text = content.map(showBlock).join('\n');
  return { source, text, tokens: estimateTokens(text) };
}

function showBlock(block: ContentBlock): string {
  return block.type === 'text' ? block.text : `[${block.type} ${block.blob}]`;
}

/** Claimed messages come from these; all else was added by a lane. */
function isSpeaker({ kind }: MessageSource): boolean {
  return kind === 'user' || kind === 'bot' || kind === 'webhook' || kind === 'delegation';
}
