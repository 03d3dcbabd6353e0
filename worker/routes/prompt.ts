import { z } from 'zod';
import type { Deployment } from '../../durable/composition.ts';
import { previewPrompt, promptView } from '../../durable/prompt/index.ts';
import {
  type AppContext,
  parseWith,
  type Route,
  readJson,
  readOutcome,
  SMALL_BODY_BYTES,
} from '../http/index.ts';
import { sessionInPath } from './objects.ts';
import { modelRoute } from './sessions.ts';

const atStep = z
  .object({
    turn: z.coerce.number().int().min(1).optional().describe('With `step`: of a past step'),
    step: z.coerce.number().int().min(1).optional(),
  })
  .extend({
    diff: z
      .string()
      .regex(/^[1-9]\d{0,8}\.[1-9]\d{0,8}$/, 'is turn.step')
      .optional()
      .describe('`turn.step`: what changed since that step; since the header before where absent'),
  })
  .refine(
    ({ turn, step }) => (turn === undefined) === (step === undefined),
    'give `turn` and `step`, or neither',
  );

const previewBody = z.strictObject({
  agent: z.string().min(1).max(64).optional(),
  model: modelRoute.optional(),
  cwd: z.string().min(1).max(1024).optional(),
  persona: z.string().max(32_768).optional(),
  text: z.string().min(1).optional().describe('What a person would say first: its gestures are looked up'),
});

const answersPrompt = {
  status: 200,
  description: 'The prompt with its provenance',
  content: { 'application/json': { name: 'Prompt', schema: promptView } },
};

export function promptRoutes(deployment: Deployment): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/sessions/:id/prompt',
      scope: 'prompt:read',
      operation: 'readPrompt',
      summary: 'What the next step would be told, or what a past one was',
      query: atStep,
      responses: [answersPrompt],
      handle: readPrompt,
    },
    {
      method: 'POST',
      path: '/v1/prompt/preview',
      scope: 'prompt:read',
      operation: 'previewPrompt',
      summary: 'Assemble a prompt without a session or a model call',
      body: { name: 'Preview', schema: previewBody },
      responses: [answersPrompt],
      handle: (c) => preview(c, deployment),
    },
  ];
}

async function readPrompt(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  const { turn, step, diff } = parseWith(atStep, c.req.query());
  const at = turn === undefined || step === undefined ? null : { turn, step };
  return c.body(await readOutcome(session.prompt(at, readStep(diff))), 200, {
    'content-type': 'application/json',
  });
}

/** `turn.step`, as the query's schema has checked it. */
function readStep(text: string | undefined): { turn: number; step: number } | null {
  if (text === undefined) return null;
  const [turn = 0, step = 0] = text.split('.').map(Number);
  return { turn, step };
}

async function preview(c: AppContext, deployment: Deployment): Promise<Response> {
  const limits = { limitBytes: SMALL_BODY_BYTES, optional: true };
  const { value } = await readJson(c.req.raw, previewBody, limits);
  const skills = await c.var.config.skills.view({ tenant: c.var.caller.tenant, session: null });
  const view = await previewPrompt(deployment, {
    agent: value.agent ?? null,
    model: value.model ?? null,
    cwd: value.cwd ?? null,
    persona: value.persona ?? null,
    text: value.text ?? null,
    env: Object.fromEntries(Object.entries(c.env)),
    skills,
  });
  return c.json(view);
}
