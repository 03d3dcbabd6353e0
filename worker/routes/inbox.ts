/** What waits in a session's inbox: listed, and taken out before a turn takes it. */
import { z } from 'zod';
import { queuedMessage } from '../../durable/rpc.ts';
import { type AppContext, type Route, readOutcome } from '../http/index.ts';
import { answersSession } from './answers.ts';
import { callerName, sessionInPath } from './objects.ts';

const queue = z.object({
  data: z.array(queuedMessage).describe('In the order in which turns will take them'),
});

export function inboxRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/sessions/:id/messages',
      scope: 'sessions:read',
      operation: 'listQueuedMessages',
      summary: 'List the messages that wait',
      responses: [
        {
          status: 200,
          description: 'What no turn has taken yet',
          content: { 'application/json': { name: 'Queue', schema: queue } },
        },
      ],
      handle: async (c) => c.json({ data: await readOutcome(sessionInPath(c).session.queued()) }),
    },
    {
      method: 'DELETE',
      path: '/v1/sessions/:id/messages',
      scope: 'sessions:write',
      operation: 'discardQueuedMessages',
      summary: 'Discard all messages that wait',
      description: 'What a turn has taken, or is taking at this moment, stays with it.',
      responses: [{ ...answersSession, status: 200 }],
      handle: (c) => discard(c, null),
    },
    {
      method: 'DELETE',
      path: '/v1/sessions/:id/messages/:message',
      scope: 'sessions:write',
      operation: 'discardQueuedMessage',
      summary: 'Discard one message that waits',
      description:
        '`message_claimed` (409) where a turn has taken it; `message_not_found` (404) where it never was, or was ' +
        'discarded already.',
      responses: [{ ...answersSession, status: 200 }],
      handle: (c) => discard(c, c.req.param('message') ?? ''),
    },
  ];
}

async function discard(c: AppContext, message: string | null): Promise<Response> {
  const { session } = sessionInPath(c);
  return c.json(await readOutcome(session.discard({ by: callerName(c), message })));
}
