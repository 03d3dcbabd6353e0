/** A turn's outcome, for a client that waits for it in one response. */
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import { eventBody, NO_USAGE, turnEndReason, usage } from '../../durable/transcript/events.ts';
import type { Feed } from './feed.ts';
import type { TurnFollower } from './turn.ts';

export const answer = z.object({
  /** Null where the message was discarded before a turn took it. */
  turn: z.int().nullable(),
  reason: z.discriminatedUnion('kind', [
    ...turnEndReason.options,
    z.object({ kind: z.literal('discarded'), cause: z.string() }),
  ]),
  /** The text blocks of the turn's last assistant message. */
  text: z.string(),
  usage,
});
export type Answer = z.infer<typeof answer>;

/** The outcome, or null where the turn has not ended after `waitMs`, or the feed ended before it. */
export async function waitForAnswer(
  feed: Feed,
  follower: TurnFollower,
  waitMs: number,
): Promise<Answer | null> {
  const until = Date.now() + waitMs;
  let text = '';
  for (let left = waitMs; left > 0; left = until - Date.now()) {
    const frames = await feed.next(left);
    if (frames === null) return null;
    const selected = follower.select(frames);
    for (const frame of selected.frames) {
      const outcome = readFrame(frame, text);
      if (outcome.kind === 'ended') return outcome.answer;
      text = outcome.text;
    }
  }
  return null;
}

type FrameOutcome = { kind: 'running'; text: string } | { kind: 'ended'; answer: Answer };

/** Most frames say nothing about the outcome, and are not parsed. */
function readFrame(frame: Frame, text: string): FrameOutcome {
  const telling = ['assistant/message', 'turn/end', 'inbox/discarded'];
  if (frame.frame !== 'event' || !telling.includes(frame.type)) return { kind: 'running', text };
  const event = eventBody.parse(JSON.parse(frame.data));
  switch (event.type) {
    case 'assistant/message':
      return { kind: 'running', text: joinText(event.content) };
    case 'turn/end': {
      const { turn, reason, usage: used } = event;
      return { kind: 'ended', answer: { turn, reason, text, usage: used } };
    }
    case 'inbox/discarded': {
      const reason = { kind: 'discarded' as const, cause: event.cause };
      return { kind: 'ended', answer: { turn: null, reason, text: '', usage: NO_USAGE } };
    }
    default:
      return { kind: 'running', text };
  }
}

function joinText(content: readonly { type: string; text?: string }[]): string {
  return content.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
}
