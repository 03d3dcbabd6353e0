import { z } from 'zod';
import { listUserInvocable } from '../../durable/skills/index.ts';
import { failure } from '../../durable/transcript/events.ts';
import type { AppContext, Route } from '../http/index.ts';

const skillList = z.object({
  data: z
    .array(
      z.object({
        name: z.string(),
        description: z.string(),
        digest: z.string(),
        tokens: z.int().describe('An estimate'),
        model_invocable: z.boolean().describe('Whether the model may load it by itself'),
      }),
    )
    .describe('What `/name` reaches, sorted by name'),
  manifest: z.string().nullable().describe('SHA-256 of the current release'),
  fault: failure.optional().describe('Why there are none, where the release cannot be read'),
});

export function skillRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/skills',
      scope: 'skills:read',
      operation: 'listSkills',
      summary: 'The skills that a person can invoke with `/name`',
      responses: [
        {
          status: 200,
          description: 'The skills of the current release',
          content: { 'application/json': { name: 'SkillList', schema: skillList } },
        },
      ],
      handle: listSkills,
    },
  ];
}

async function listSkills(c: AppContext): Promise<Response> {
  const view = await c.var.config.skills.view({ tenant: c.var.caller.tenant, session: null });
  const list: z.infer<typeof skillList> = { data: listUserInvocable(view), manifest: view.manifest };
  return c.json(view.fault === undefined ? list : { ...list, fault: view.fault });
}
