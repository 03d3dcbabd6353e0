/** What came to the recorded session from outside, done to the one that is re-run. */

import { admitMessage } from '../../durable/inbox/index.ts';
import { addSpend, spendOfTurn } from '../../durable/loop/index.ts';
import { markCancelled } from '../../durable/operations/cancel.ts';
import type { IncomingBlock } from '../../durable/rpc.ts';
import type { SqlPort } from '../../durable/storage/index.ts';
import {
  addUsage,
  type ContentBlock,
  type EventBody,
  foldTurn,
  openTurn,
} from '../../durable/transcript/index.ts';
import type { LocalSession } from '../local/local-session.ts';
import type { Input } from './schedule.ts';

export interface ApplyPorts {
  local: LocalSession;
  sql: SqlPort;
  blobs: ReadonlyMap<string, Uint8Array>;
  now: () => number;
}

/** `restart`: the session's object began anew behind it. `missed`: it came to nothing. */
export function applyInput(ports: ApplyPorts, input: Input): 'done' | 'restart' | 'missed' {
  const { local, sql } = ports;
  switch (input.kind) {
    case 'admit':
      admit(ports, input);
      return 'done';
    case 'log':
      appendAll(ports, input.events);
      return 'done';
    case 'close':
      if (local.parts.turn()?.turn !== input.turn) return 'missed';
      appendAll(ports, input.events);
      return 'restart';
    case 'cancel':
      if (local.parts.turn()?.turn !== input.turn) return 'missed';
      // As the operation has it: what is known of the cancel is in the state row.
      local.parts.log.commit(() => markCancelled(local.parts, input.turn, input.by));
      local.driver.cancel(input.by);
      return 'done';
    case 'model':
      sql.run('UPDATE session SET model = ?', input.model);
      return 'restart';
    case 'restart':
      return 'restart';
    default:
      return input satisfies never;
  }
}

function admit({ local, blobs }: ApplyPorts, { event, message }: Extract<Input, { kind: 'admit' }>): void {
  const { identity } = local.parts;
  admitMessage(
    { ...local.parts, session: identity.id, accepts: () => true, model: '', arm: () => undefined },
    {
      id: event.message,
      delivery: event.delivery,
      source: event.source,
      content: message.content.map((block) => toIncoming(block, blobs)),
      idempotency: null,
    },
  );
}

/** As the recording has them; what they say of messages and of the turn's end is true of the rows as well. */
function appendAll({ local, now }: ApplyPorts, events: readonly EventBody[]): void {
  const { log, inbox } = local.parts;
  log.commit((append) => {
    for (const body of events) {
      if (body.type === 'user/message' || body.type === 'inbox/discarded') {
        const item = inbox.find(body.message.id);
        if (item) inbox.remove([item]);
      }
      append(body);
      if (body.type === 'turn/end') closeTurn(local, body, now());
    }
  });
}

/** Part of the commit that ends the turn. */
function closeTurn(
  { parts }: LocalSession,
  end: Extract<EventBody, { type: 'turn/end' }>,
  now: number,
): void {
  const { log, state } = parts;
  const { openTurnSeq, usage, spent } = state.read();
  const turn = log.read(openTurnSeq, log.lastSeq()).reduce(foldTurn, openTurn(end.turn));
  state.write({
    openTurnSeq: 0,
    usage: addUsage(usage, end.usage),
    spent: addSpend(spent, spendOfTurn(turn, now)),
    resumed: null,
    cancel: null,
  });
}

function toIncoming(block: ContentBlock, blobs: ReadonlyMap<string, Uint8Array>): IncomingBlock {
  if (block.type === 'text') return block;
  const { type, media_type, name = null, blob } = block;
  return { type, media_type, name, bytes: blobs.get(blob) ?? new Uint8Array() };
}
