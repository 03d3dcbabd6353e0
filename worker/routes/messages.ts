/** A message in, and one of three replies out: a receipt, the turn as a stream, or the turn's answer. */
import { z } from 'zod';
import { type AdmitMessage, type Receipt, receipt, type SessionRpc } from '../../durable/rpc.ts';
import { createId, retriedMessageId } from '../auth/index.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  MESSAGE_BODY_BYTES,
  parseWait,
  prefersEventStream,
  type Route,
  readJson,
  readOutcome,
} from '../http/index.ts';
import {
  answer,
  answerSse,
  type Feed,
  followTurn,
  formatFrame,
  formatSse,
  openFeed,
  waitForAnswer,
} from '../stream/index.ts';
import { messageBody, readBlocks, refuseSource } from './message-body.ts';
import { sessionInPath } from './objects.ts';

const waitedAnswer = z.object({ receipt, ...answer.shape });

export function messageRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/sessions/:id/messages',
      scope: 'sessions:write',
      operation: 'sendMessage',
      summary: 'Send a message',
      description:
        'The receipt says that the message is kept: it will be answered whatever happens to this request. With ' +
        '`Accept: text/event-stream` the turn that takes it is streamed: an event `receipt`, then the logged events ' +
        'under their types and `delta` for text as it comes, up to `turn/end`. With `Prefer: wait=N` the answer is ' +
        'awaited for up to N seconds (at most 300).',
      headers: [
        IDEMPOTENCY_KEY_HEADER,
        { name: 'Prefer', description: '`wait=N` (RFC 7240): the answer, where it is there after N seconds' },
      ],
      body: { name: 'Message', schema: messageBody },
      responses: [
        {
          status: 202,
          description: 'The receipt',
          content: { 'application/json': { name: 'Receipt', schema: receipt } },
        },
        {
          status: 200,
          description:
            "The turn's answer (`Prefer: wait`), or the turn as it happens (`Accept: text/event-stream`)",
          content: {
            'application/json': { name: 'Answer', schema: waitedAnswer },
            'text/event-stream': null,
          },
        },
      ],
      handle: sendMessage,
    },
  ];
}

async function sendMessage(c: AppContext): Promise<Response> {
  const { id, session } = sessionInPath(c);
  const { value, idempotency } = await readJson(c.req.raw, messageBody, {
    limitBytes: MESSAGE_BODY_BYTES,
    inspect: refuseSource,
  });
  const message: AdmitMessage = {
    id:
      idempotency === null
        ? createId('msg_')
        : retriedMessageId(c.var.config.objectNameSecret, c.var.caller.tenant, id, idempotency.key),
    delivery: value.delivery,
    source: { kind: 'user' },
    content: readBlocks(value),
    idempotency,
  };
  if (prefersEventStream(c)) return streamTurn(c, session, message);
  const seconds = parseWait(c.req.header('prefer'));
  if (seconds !== null) return answerInTime(c, session, message, seconds);
  return c.json(await admit(c, session, message), 202);
}

/** A client that leaves before the receipt does not take the admission with it. */
function admit(c: AppContext, session: SessionRpc, message: AdmitMessage): Promise<Receipt> {
  const admission = readOutcome(session.admit(message));
  c.executionCtx.waitUntil(
    admission.then(
      () => {},
      () => {
        // The request's own await has the error.
      },
    ),
  );
  return admission;
}

/**
 * The message first: the object is on its way to the model while the stream is opened, and the stream begins with what
 * was logged meanwhile. A message that may have come before is followed from where its receipt says that it stands. Where
 * the stream cannot be opened (`feed` is null) the message is kept all the same, and the receipt is the answer.
 */
async function admitAndFollow(
  c: AppContext,
  session: SessionRpc,
  message: AdmitMessage,
): Promise<{ kept: Receipt; feed: Feed | null }> {
  const kept = await admit(c, session, message);
  const start =
    message.idempotency === null ? { message: kept.message } : { after: { seq: kept.seq, part: null } };
  return { kept, feed: await openFeed(session, start).catch(() => null) };
}

async function streamTurn(c: AppContext, session: SessionRpc, message: AdmitMessage): Promise<Response> {
  const { kept, feed } = await admitAndFollow(c, session, message);
  if (feed === null) return c.json(kept, 202);
  const follower = followTurn(kept.message);
  const first = formatSse({ event: 'receipt', id: kept.seq, data: JSON.stringify(kept) });
  return answerSse(feed, first, (frames) => {
    const selected = follower.select(frames);
    return { text: selected.frames.map(formatFrame).join(''), last: selected.done };
  });
}

async function answerInTime(
  c: AppContext,
  session: SessionRpc,
  message: AdmitMessage,
  seconds: number,
): Promise<Response> {
  const { kept, feed } = await admitAndFollow(c, session, message);
  if (feed === null) return c.json(kept, 202);
  const answered = await waitForAnswer(feed, followTurn(kept.message), seconds * 1_000);
  feed.close();
  const applied = { 'preference-applied': `wait=${seconds}` };
  if (answered === null) return c.json(kept, 202, applied);
  return c.json({ receipt: kept, ...answered }, 200, applied);
}
