/**
 * What a session's rows say at a place in its log, folded from the events up to there: the state row, the surface's
 * ranges, and which admitted messages nobody has accounted for. Pure.
 */
import type { Spend } from '../rpc.ts';
import {
  addCharge,
  addUsage,
  type LogEvent,
  type LogEventOf,
  type MessageId,
  NO_USAGE,
  replaceInRanges,
  type Seq,
  type SurfaceRange,
  type Usage,
} from '../transcript/index.ts';

export interface Prefix {
  turns: number;
  /** The seq of the `turn/start` of a turn that has not ended; 0 where none is open. */
  openTurnSeq: Seq | 0;
  headerSeq: Seq | 0;
  usage: Usage;
  /** By the turns that have ended. */
  spent: Spend;
  surface: SurfaceRange[];
  /** Admitted, and in no claim and no discard. In order. */
  waiting: Map<MessageId, LogEventOf<'inbox/admitted'>>;
  /** Of the newest event. */
  at: number;
  /** Of the open turn. */
  startedAt: number;
  toolCalls: number;
}

export function createPrefix(): Prefix {
  return {
    turns: 0,
    openTurnSeq: 0,
    headerSeq: 0,
    usage: NO_USAGE,
    spent: { steps: 0, tool_calls: 0, wall_ms: 0, tokens: 0, micro_usd: 0 },
    surface: [{ first: 1, last: null }],
    waiting: new Map(),
    at: 0,
    startedAt: 0,
    toolCalls: 0,
  };
}

/** Takes in the next event: changes `prefix` in place, for logs are long. */
export function addToPrefix(prefix: Prefix, event: LogEvent): void {
  prefix.at = event.at;
  if ('surface' in event && event.surface !== 'append') {
    prefix.surface = replaceInRanges(prefix.surface, event.seq, event.surface.replace);
  }
  switch (event.type) {
    case 'inbox/admitted':
      prefix.waiting.set(event.message, event);
      return;
    case 'inbox/discarded':
    case 'user/message':
      prefix.waiting.delete(event.message.id);
      return;
    case 'step/start':
      for (const id of event.claimed) prefix.waiting.delete(id);
      return;
    case 'turn/start':
      prefix.turns = event.turn;
      prefix.openTurnSeq = event.seq;
      prefix.startedAt = event.at;
      prefix.toolCalls = 0;
      return;
    case 'request/header':
      prefix.headerSeq = event.seq;
      return;
    case 'tool/call':
      prefix.toolCalls++;
      return;
    case 'turn/end':
      prefix.openTurnSeq = 0;
      prefix.usage = addUsage(prefix.usage, event.usage);
      prefix.spent = addTurn(prefix, event);
      return;
    case 'command/done':
      if (event.command === 'reset') prefix.surface = [{ first: event.seq + 1, last: null }];
      return;
    default:
  }
}

/** Logs from before there were receipts say less: what they do not say was not paid for. */
function addTurn(
  { spent, startedAt, toolCalls }: Prefix,
  { at, steps, usage, receipt }: LogEventOf<'turn/end'>,
): Spend {
  const charge = receipt?.charge ?? { tokens: usage.input + usage.output, micro_usd: null };
  return {
    steps: spent.steps + steps,
    tool_calls: spent.tool_calls + (receipt?.tool_calls ?? toolCalls),
    wall_ms: spent.wall_ms + (receipt?.ms ?? Math.max(0, at - startedAt)),
    ...addCharge(spent, charge),
  };
}
