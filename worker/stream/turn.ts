/** Finds, among a session's frames, the turn that takes one message. Pure. */
import { z } from 'zod';
import type { Frame } from '../../durable/rpc.ts';
import type { EventFrame } from './frames.ts';

export interface TurnFollower {
  /** The frames of the turn among these, in order, and whether the turn has ended with the last of them. */
  select: (frames: readonly Frame[]) => { frames: Frame[]; done: boolean };
}

const withMessage = z.object({ message: z.object({ id: z.string() }) });
const withClaim = z.object({ claimed: z.array(z.string()) });

/**
 * Sent are: the turn's start, everything of it from the step that claims the message, its end. Where the message is
 * discarded, that event alone. What belongs to other turns, or to this one before it takes the message, is not. A stream
 * that drops its reader is done with that.
 */
export function followTurn(message: string): TurnFollower {
  let turn: number | null = null;
  /** The start of the newest turn, until its first step says whether it takes the message. */
  let start: EventFrame | null = null;

  const takesMessage = (frame: EventFrame): boolean => {
    if (frame.type === 'step/start') return withClaim.parse(JSON.parse(frame.data)).claimed.includes(message);
    return frame.type === 'user/message' && namesMessage(frame, message);
  };
  const begin = (frame: EventFrame): Frame[] => {
    if (frame.type === 'turn/start') start = frame;
    if (!takesMessage(frame)) {
      if (frame.type === 'step/start') start = null;
      return [];
    }
    turn = frame.turn;
    return start !== null && start.turn === turn ? [start, frame] : [frame];
  };
  return {
    select(frames) {
      const selected: Frame[] = [];
      for (const frame of frames) {
        if (!('turn' in frame)) {
          if (frame.frame === 'dropped') return { frames: [...selected, frame], done: true };
          continue;
        }
        if (frame.frame === 'event' && frame.type === 'inbox/discarded' && namesMessage(frame, message)) {
          return { frames: [...selected, frame], done: true };
        }
        if (turn === null) {
          if (frame.frame === 'event') selected.push(...begin(frame));
        } else if (frame.turn === turn) {
          selected.push(frame);
          if (frame.frame === 'event' && frame.type === 'turn/end') return { frames: selected, done: true };
        }
      }
      return { frames: selected, done: false };
    },
  };
}

function namesMessage(frame: EventFrame, message: string): boolean {
  return withMessage.parse(JSON.parse(frame.data)).message.id === message;
}
