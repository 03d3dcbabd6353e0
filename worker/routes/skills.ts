import { z } from 'zod';
import {
  skillBundleMissing,
  skillManifestMissing,
  skillNameInvalid,
  skillUnknown,
} from '../../durable/errors.ts';
import {
  isSkillName,
  listUserInvocable,
  NAME_RULE,
  type SkillEntry,
  type SkillLayer,
  type SkillView,
} from '../../durable/skills/index.ts';
import { failure } from '../../durable/transcript/events.ts';
import type { AppContext, Route } from '../http/index.ts';

const layer = z
  .enum(['tenant', 'deployment'])
  .describe("Whose it is: a tenant's skill lies over the deployment's of the same name");

const skillList = z.object({
  data: z
    .array(
      z.object({
        name: z.string(),
        description: z.string(),
        layer,
        digest: z.string(),
        tokens: z.int().describe('An estimate'),
        model_invocable: z.boolean().describe('Whether the model may load it by itself'),
      }),
    )
    .describe('What `/name` reaches, sorted by name'),
  manifest: z.string().nullable().describe("SHA-256 of the deployment's release"),
  tenant_manifest: z.string().nullable().describe("SHA-256 of the tenant's own"),
  fault: failure.optional().describe('Why there are none, where a release cannot be read'),
});

/** A skill without its body. */
export const skillHead = z.object({
  name: z.string(),
  description: z.string(),
  layer,
  digest: z.string().describe('Changes when anything of the skill does'),
  tokens: z.int().describe('Of what the model is given; an estimate'),
  bytes: z.int().describe('Of the body'),
  user_invocable: z.boolean(),
  model_invocable: z.boolean(),
  license: z.string().optional(),
  compatibility: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  allowed_tools: z.string().optional(),
  resources: z.array(z.object({ path: z.string(), digest: z.string(), bytes: z.int() })),
});
const wholeSkill = skillHead.extend({ body: z.string() });

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
          description: 'The skills of the current releases',
          content: { 'application/json': { name: 'SkillList', schema: skillList } },
        },
      ],
      handle: listSkills,
    },
    {
      method: 'GET',
      path: '/v1/skills/:name',
      scope: 'skills:read',
      operation: 'getSkill',
      summary: 'Read a skill as sessions of this tenant get it',
      responses: [
        {
          status: 200,
          description: 'The skill',
          content: { 'application/json': { name: 'Skill', schema: wholeSkill } },
        },
      ],
      handle: getSkill,
    },
  ];
}

async function listSkills(c: AppContext): Promise<Response> {
  const view = await viewSkills(c);
  const list: z.infer<typeof skillList> = {
    data: listUserInvocable(view).map((item) => ({ ...item, layer: view.layerOf(item.name) })),
    manifest: view.manifest,
    tenant_manifest: view.tenantManifest,
  };
  return c.json(view.fault === undefined ? list : { ...list, fault: view.fault });
}

async function getSkill(c: AppContext): Promise<Response> {
  const name = skillInPath(c);
  const view = await viewSkills(c);
  if (view.fault !== undefined) {
    const refuse = view.fault.code === 'skill_manifest_missing' ? skillManifestMissing : skillBundleMissing;
    throw refuse(view.fault.message);
  }
  const entry = view.find(name);
  if (entry === undefined) throw skillUnknown(`There is no skill "${name}".`, { name });
  const skill: z.infer<typeof wholeSkill> = {
    ...describeSkill(entry, view.layerOf(name)),
    body: await view.body(entry),
  };
  return c.json(skill);
}

/** What the tenant's sessions read. A change is seen here when it is seen there. */
export function viewSkills(c: AppContext): Promise<SkillView> {
  return c.var.config.skills.view({ tenant: c.var.caller.tenant, session: null });
}

/** The name in the path. Throws `skill_name_invalid` where it cannot be one. */
export function skillInPath(c: AppContext): string {
  const name = c.req.param('name') ?? '';
  if (!isSkillName(name)) throw skillNameInvalid(`A skill name has ${NAME_RULE}.`);
  return name;
}

export function describeSkill(entry: SkillEntry, from: SkillLayer): z.infer<typeof skillHead> {
  const { name, description, digest, tokens, bytes, license, compatibility, metadata, allowedTools } = entry;
  return {
    name,
    description,
    layer: from,
    digest,
    tokens,
    bytes,
    user_invocable: entry.userInvocable,
    model_invocable: entry.modelInvocable,
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    ...(metadata !== undefined && { metadata }),
    ...(allowedTools !== undefined && { allowed_tools: allowedTools }),
    resources: entry.resources.map(({ path, digest: file, bytes: size }) => ({
      path,
      digest: file,
      bytes: size,
    })),
  };
}
