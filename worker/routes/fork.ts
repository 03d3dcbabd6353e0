/** A session that begins as a copy of another one. */
import { z } from 'zod';
import type { Deployment } from '../../durable/composition.ts';
import { checkRoute } from '../../durable/models/index.ts';
import type { ForkSession, IdempotencyClaim } from '../../durable/rpc.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { createId, directoryName } from '../auth/index.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  type Route,
  readJson,
  readOutcome,
  SMALL_BODY_BYTES,
} from '../http/index.ts';
import { answersSession } from './answers.ts';
import { nameOfSession, sessionIdText, sessionInPath, sessionObject } from './objects.ts';
import { claimSession, metadata, modelRoute } from './sessions.ts';

const forkBody = z.strictObject({
  at_seq: z
    .number()
    .int()
    .positive()
    .optional()
    .describe(
      'The last event that both share: one behind which no step is open. Absent: the newest between turns',
    ),
  id: sessionIdText.optional().describe('Chosen by the service where absent'),
  model: modelRoute.optional().describe("`provider/model`; the parent's where absent"),
  metadata: metadata.optional().describe("The parent's where absent"),
});

export function forkRoutes(deployment: Deployment): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/sessions/:id/fork',
      scope: 'sessions:write',
      operation: 'forkSession',
      summary: 'Begin a session as a copy of this one',
      description:
        'The child has the log up to `at_seq` under the same seqs, and its own from there; the parent does not change. ' +
        'Any seq behind which no step is open will do; elsewhere `not_a_boundary` names the nearest ones, `before` and ' +
        '`after`. Inside a turn, the child ends it as `interrupted`. What waits in the inbox there stays with the parent.',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'Fork', schema: forkBody },
      responses: [{ ...answersSession, status: 201 }],
      handle: (c) => forkSession(c, deployment),
    },
  ];
}

async function forkSession(c: AppContext, deployment: Deployment): Promise<Response> {
  const parent = sessionInPath(c);
  const { value, idempotency } = await readJson(c.req.raw, forkBody, {
    limitBytes: SMALL_BODY_BYTES,
    optional: true,
  });
  if (value.model !== undefined) checkRoute(value.model, deployment.providers);
  const atSeq = value.at_seq ?? null;
  // Before the key is claimed, and before there is an object: what can never become a session leaves nothing.
  await readOutcome(parent.session.forkPoint(atSeq));
  const claim = idempotency && bindToParent(idempotency, parent.id);
  const candidate = value.id ?? createId('ses_');
  const id = claim === null ? candidate : await claimSession(c, claim, candidate);
  const input: ForkSession = {
    tenant: c.var.caller.tenant,
    directory: directoryName(c.var.config.objectNameSecret, c.var.caller.tenant),
    id,
    parentObject: nameOfSession(c, parent.id),
    parent: parent.id,
    atSeq,
    metadata: value.metadata ?? null,
    model: value.model ?? null,
    idempotency: claim,
  };
  const child = await readOutcome(sessionObject(c, id).fork(input));
  return c.json(child, 201, { location: `/v1/sessions/${child.id}` });
}

/** The same body under the same key is another request where it is sent to another session, or creates one. */
function bindToParent({ key, digest }: IdempotencyClaim, parent: string): IdempotencyClaim {
  return { key, digest: sha256Hex(`fork\n${parent}\n${digest}`) };
}
