import { z } from 'zod';
import type { Deployment } from '../../durable/composition.ts';
import { idempotencyConflict, unavailable } from '../../durable/errors.ts';
import { type CreateSession, type IdempotencyClaim, sessionListing } from '../../durable/rpc.ts';
import { createId, directoryName } from '../auth/index.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  parseWith,
  type Route,
  readJson,
  readOutcome,
  SMALL_BODY_BYTES,
} from '../http/index.ts';
import { answersSession } from './answers.ts';
import { directoryObject, sessionIdText, sessionInPath, sessionObject } from './objects.ts';

const MAX_METADATA = 32;

export const modelRoute = z
  .string()
  .max(256)
  .regex(/^[^/\s]+\/\S+$/, 'is provider/model');

export const metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((entries) => Object.keys(entries).length <= MAX_METADATA, `has at most ${MAX_METADATA} entries`);

const createBody = z.strictObject({
  agent: z.string().min(1).max(64).optional().describe("The deployment's default agent where absent"),
  id: sessionIdText.optional().describe('Chosen by the service where absent'),
  cwd: z.string().min(1).max(1024).optional(),
  metadata: metadata.default({}),
  model: modelRoute.optional().describe("`provider/model`; the agent's own where absent"),
  tools: z
    .array(z.string().min(1).max(64))
    .max(256)
    .optional()
    .describe("Of the agent's tools, those that the session may use; all where absent"),
  persona: z.string().max(32_768).optional().describe("Takes the place of the agent's persona; a template"),
});

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z
    .string()
    .regex(/^\d{1,16}\.[A-Za-z0-9_-]{1,64}$/, 'is no cursor of this list')
    .optional()
    .describe('The `next` of the page before'),
});

const listPage = z.object({
  data: z.array(sessionListing).describe('Newest first'),
  next: z.string().nullable().describe('Null on the last page'),
});

export function sessionRoutes(deployment: Deployment): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/sessions',
      scope: 'sessions:write',
      operation: 'createSession',
      summary: 'Create a session',
      headers: [IDEMPOTENCY_KEY_HEADER],
      body: { name: 'CreateSession', schema: createBody },
      responses: [{ ...answersSession, status: 201 }],
      handle: (c) => createSession(c, deployment),
    },
    {
      method: 'GET',
      path: '/v1/sessions',
      scope: 'sessions:read',
      operation: 'listSessions',
      summary: 'List sessions, newest first',
      query: listQuery,
      responses: [
        {
          status: 200,
          description: 'A page',
          content: { 'application/json': { name: 'SessionPage', schema: listPage } },
        },
      ],
      handle: listSessions,
    },
    {
      method: 'GET',
      path: '/v1/sessions/:id',
      scope: 'sessions:read',
      operation: 'getSession',
      summary: 'Read a session: its status, what it used up and its last seq',
      responses: [{ ...answersSession, status: 200 }],
      handle: async (c) => c.json(await readOutcome(sessionInPath(c).session.view())),
    },
    {
      method: 'DELETE',
      path: '/v1/sessions/:id',
      scope: 'sessions:write',
      operation: 'deleteSession',
      summary: 'Erase a session: its log, its alarm and its listing',
      description:
        'Once it has begun it is finished, whatever happens to this request; the session is a 404 from then on.',
      responses: [{ status: 204, description: 'It is gone' }],
      handle: deleteSession,
    },
  ];
}

async function createSession(c: AppContext, deployment: Deployment): Promise<Response> {
  const { value, idempotency } = await readJson(c.req.raw, createBody, {
    limitBytes: SMALL_BODY_BYTES,
    optional: true,
  });
  // Before the key is claimed: a body that can never become a session binds nothing.
  const agent = deployment.agent(value.agent ?? null);
  if (value.model !== undefined) deployment.checkModel(agent, value.model);
  const candidate = value.id ?? createId('ses_');
  const id = idempotency === null ? candidate : await claimSession(c, idempotency, candidate);
  const input: CreateSession = {
    tenant: c.var.caller.tenant,
    directory: directoryName(c.var.config.objectNameSecret, c.var.caller.tenant),
    id,
    agent: value.agent ?? null,
    model: value.model ?? null,
    cwd: value.cwd ?? null,
    metadata: value.metadata,
    persona: value.persona ?? null,
    tools: value.tools ?? null,
    idempotency,
  };
  const created = await readOutcome(sessionObject(c, id).create(input));
  return c.json(created, 201, { location: `/v1/sessions/${created.id}` });
}

/** The id of the session that this key made first. A session chooses nothing here: without the directory, no answer. */
export async function claimSession(
  c: AppContext,
  claim: IdempotencyClaim,
  candidate: string,
): Promise<string> {
  const id = await reachDirectory(directoryObject(c).claimKey(claim, candidate));
  if (id === null) throw idempotencyConflict('This Idempotency-Key came with another body before.');
  return id;
}

async function listSessions(c: AppContext): Promise<Response> {
  const { limit, after } = parseWith(listQuery, c.req.query());
  return c.json(await reachDirectory(directoryObject(c).list({ limit, after: after ?? null })));
}

async function deleteSession(c: AppContext): Promise<Response> {
  await readOutcome(sessionInPath(c).session.erase());
  return c.body(null, 204);
}

/** The directory is beside the sessions: whatever is wrong with it, they go on, and this can be asked again. */
async function reachDirectory<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch {
    // The platform has logged the object's exception.
    throw unavailable('The list of sessions does not answer.');
  }
}
