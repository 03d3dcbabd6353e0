/** What a session is told to do beside answering: stop, begin anew, mend itself. */
import { z } from 'zod';
import { repairReport } from '../../durable/rpc.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  type Route,
  readJson,
  readOutcome,
  SMALL_BODY_BYTES,
} from '../http/index.ts';
import { answersSession } from './answers.ts';
import { callerName, sessionInPath } from './objects.ts';

const cancelBody = z.strictObject({
  clear_inbox: z.boolean().default(false).describe('Also discard what waits in the inbox'),
  turn: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('Only this turn: nothing happens where another is open'),
});
const noBody = z.strictObject({});

export function commandRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/sessions/:id/cancel',
      scope: 'sessions:write',
      operation: 'cancelTurn',
      summary: 'Stop the running turn',
      description:
        'What the person already saw of the answer is kept. What waits in the inbox runs next. Acknowledged, it holds ' +
        'whatever happens to the service; without an open turn, and for the second time, it changes nothing.',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'Cancel', schema: cancelBody },
      responses: [{ ...answersSession, status: 200 }],
      handle: cancelTurn,
    },
    {
      method: 'POST',
      path: '/v1/sessions/:id/reset',
      scope: 'sessions:write',
      operation: 'resetSession',
      summary: 'Begin the conversation anew',
      description:
        'The model sees nothing from before; the log keeps all of it, and what waits in the inbox stays there. ' +
        'Refused with `session_busy` while a turn is open.',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'Empty', schema: noBody },
      responses: [{ ...answersSession, status: 200 }],
      handle: resetSession,
    },
    {
      method: 'POST',
      path: '/v1/sessions/:id/repair',
      scope: 'sessions:write',
      operation: 'repairSession',
      summary: 'Find and mend what a fault left',
      description:
        'For a session whose requests fail with `session_damaged`, or whose work does not go on. What cannot be read is ' +
        'kept as bytes and named in the log; a turn that cannot go on is closed. Where nothing is wrong, nothing changes. ' +
        'While a turn runs, its rows are left alone.',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'Empty', schema: noBody },
      responses: [
        {
          status: 200,
          description: 'What was found and done',
          content: { 'application/json': { name: 'Repair', schema: repairReport } },
        },
      ],
      handle: repairSession,
    },
  ];
}

async function cancelTurn(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  const { value, idempotency } = await readJson(c.req.raw, cancelBody, {
    limitBytes: SMALL_BODY_BYTES,
    optional: true,
  });
  const { clear_inbox: clearInbox, turn = null } = value;
  return c.json(await readOutcome(session.cancel({ by: callerName(c), clearInbox, turn, idempotency })));
}

async function resetSession(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  return c.json(await readOutcome(session.reset(await readCommand(c, 'reset'))));
}

async function repairSession(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  return c.json(await readOutcome(session.repair(await readCommand(c, 'repair'))));
}

/** The commands' bodies are alike, so a key is bound to the command too. */
async function readCommand(c: AppContext, command: string) {
  const options = { limitBytes: SMALL_BODY_BYTES, optional: true };
  const { idempotency } = await readJson(c.req.raw, noBody, options);
  const claim = idempotency && { ...idempotency, digest: `${command}:${idempotency.digest}` };
  return { by: callerName(c), idempotency: claim };
}
