/** What waits for a person: calls to be allowed, and questions of the model's. */
import { z } from 'zod';
import { approvalView, type DecideApproval } from '../../durable/rpc.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  type Route,
  readJson,
  readOutcome,
  SMALL_BODY_BYTES,
} from '../http/index.ts';
import { callerName, sessionInPath } from './objects.ts';

const APPROVAL_CHARS = 64;
const ANSWER_CHARS = 8_192;

const decisionBody = z.union([
  z.strictObject({
    decision: z.enum(['approve', 'deny']),
    reason: z.string().max(ANSWER_CHARS).optional().describe('The model reads it with a denial'),
  }),
  z.strictObject({ answer: z.string().min(1).max(ANSWER_CHARS) }),
]);

const list = z.object({ data: z.array(approvalView).describe("In the model's order") });
const one = { name: 'Approval', schema: approvalView };

export function approvalRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/sessions/:id/approvals',
      scope: 'sessions:read',
      operation: 'listApprovals',
      summary: 'List what waits for a person',
      responses: [
        {
          status: 200,
          description: 'Calls to be allowed, and questions to be answered',
          content: { 'application/json': { name: 'Approvals', schema: list } },
        },
      ],
      handle: async (c) => c.json({ data: await readOutcome(sessionInPath(c).session.approvals()) }),
    },
    {
      method: 'POST',
      path: '/v1/sessions/:id/approvals/:approval',
      scope: 'sessions:write',
      operation: 'decideApproval',
      summary: 'Decide about a call, or answer a question',
      description: 'The first decision is the only one: a further one is refused, and says what was decided.',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'Decision', schema: decisionBody },
      responses: [{ status: 200, description: 'It is decided', content: { 'application/json': one } }],
      handle: decide,
    },
  ];
}

async function decide(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  const { value, idempotency } = await readJson(c.req.raw, decisionBody, { limitBytes: SMALL_BODY_BYTES });
  const approval = (c.req.param('approval') ?? '').slice(0, APPROVAL_CHARS);
  const input: DecideApproval = {
    approval,
    by: callerName(c),
    idempotency,
    ...('answer' in value
      ? { outcome: 'answered', text: value.answer }
      : { outcome: value.decision === 'approve' ? 'approved' : 'denied', text: value.reason ?? null }),
  };
  return c.json(await readOutcome(session.decide(input)));
}
