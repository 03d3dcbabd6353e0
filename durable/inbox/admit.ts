/** Admission: what a route hands over becomes a durable message, once. */
import { mediaNotAccepted, messageTooLarge } from '../errors.ts';
import type { AdmitMessage, IncomingBlock, Receipt } from '../rpc.ts';
import { receipt } from '../rpc.ts';
import type { Blobs } from '../storage/index.ts';
import type { ContentBlock, Log, MessageId } from '../transcript/index.ts';
import { type Inbox, queueFor } from './inbox.ts';
import type { Receipts } from './receipts.ts';

/** A message's text, in UTF-8: with its frame it fits one row. Files have a ceiling of their own. */
const MAX_TEXT_BYTES = 1_000_000;

export interface AdmitPorts {
  session: string;
  log: Log;
  inbox: Inbox;
  receipts: Receipts;
  blobs: Blobs;
  /** Whether the session's model takes this type. */
  accepts: (mediaType: string) => boolean;
  model: string;
  /** Arms the watchdog: part of the same block of writes as the message. */
  arm: () => void;
}

/**
 * One commit: blobs, message, `inbox/admitted`, receipt. Throws `idempotency_conflict`, `media_not_accepted`,
 * `message_too_large` and `value_too_large`; nothing is kept then.
 */
export function admitMessage(ports: AdmitPorts, input: AdmitMessage): Receipt {
  const known = ports.receipts.find(input.idempotency, receipt);
  if (known) return known;
  checkContent(ports, input.content);
  return ports.log.commit((append) => {
    const { id, source, delivery } = input;
    const message = id as MessageId;
    const content = input.content.map((block) => keepBlock(ports.blobs, block));
    ports.inbox.add(delivery, { id: message, role: 'user', source, content });
    const { wakes } = queueFor(delivery);
    const seq = append({ type: 'inbox/admitted', message, delivery, source, wakes });
    const answer: Receipt = { session: ports.session, message: id, delivery, seq };
    ports.receipts.keep(input.idempotency, answer);
    if (wakes) ports.arm();
    return answer;
  });
}

function checkContent(ports: AdmitPorts, content: readonly IncomingBlock[]): void {
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const block of content) {
    if (block.type === 'text') bytes += encoder.encode(block.text).byteLength;
    else if (!ports.accepts(block.media_type)) {
      throw mediaNotAccepted(`${ports.model} does not take ${block.media_type}.`, {
        model: ports.model,
        media_type: block.media_type,
      });
    }
  }
  if (bytes > MAX_TEXT_BYTES) {
    throw messageTooLarge(
      `The text is ${bytes} bytes; ${MAX_TEXT_BYTES} are taken. Send the rest as a file.`,
      {
        bytes,
        limit: MAX_TEXT_BYTES,
      },
    );
  }
}

function keepBlock(blobs: Blobs, block: IncomingBlock): ContentBlock {
  if (block.type === 'text') return block;
  const { type, media_type, name, bytes } = block;
  return {
    type,
    media_type,
    blob: blobs.put(bytes),
    bytes: bytes.byteLength,
    ...(name === null ? {} : { name }),
  };
}
