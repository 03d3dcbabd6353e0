/** A tenant's own skills: to add, replace and delete them, who did so, and which turns used which release. */
import { z } from 'zod';
import { PerchError, skillRejected, skillUnknown } from '../../durable/errors.ts';
import { skillAuditEvent, skillUsage } from '../../durable/rpc.ts';
import type { Diagnostic } from '../../durable/skills/diagnostics.ts';
import { type AppContext, parseWith, type Route, reachObject, readOutcome } from '../http/index.ts';
import { directoryObject } from './objects.ts';
import { describeSkill, skillHead, skillInPath, viewSkills } from './skills.ts';
import { folderBody, readFolder } from './tenant-skills-body.ts';

/** Of a rejected skill: what an author can read at once. */
const MAX_DIAGNOSTICS = 50;

const diagnostic = z.object({
  file: z.string(),
  line: z.int(),
  severity: z.string(),
  code: z.string(),
  message: z.string(),
});

const storedSkill = skillHead.extend({
  manifest: z.string().describe("SHA-256 of the tenant's manifest with this skill"),
  warnings: z.array(diagnostic),
});

const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.coerce.number().int().min(1).optional().describe('The `next` of the page before'),
});
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    data: z.array(item).describe('Newest first'),
    next: z.int().nullable().describe('Null on the last page'),
  });

const stored = { 'application/json': { name: 'StoredSkill', schema: storedSkill } };

const putRoute: Route = {
  method: 'PUT',
  path: '/v1/skills/:name',
  scope: 'skills:write',
  operation: 'putSkill',
  summary: "Publish a skill of the tenant's own, over the deployment's of this name",
  description:
    'The folder as `multipart/form-data`, a part for each file whose filename is its path inside the folder, or as JSON. ' +
    'A skill that breaks a rule is refused with 422 and `diagnostics`: file, line, code and message. Sessions see a ' +
    'change when their view of the release is next read.',
  body: { name: 'SkillFolder', schema: folderBody },
  takesFiles: true,
  responses: [
    { status: 200, description: 'It took the place of one of this name', content: stored },
    { status: 201, description: 'It is new', content: stored },
  ],
  handle: putSkill,
};

export function tenantSkillRoutes(): Route[] {
  return [
    putRoute,
    {
      method: 'DELETE',
      path: '/v1/skills/:name',
      scope: 'skills:write',
      operation: 'deleteSkill',
      summary: "Delete a skill of the tenant's own; the deployment's of this name is uncovered",
      responses: [{ status: 204, description: 'It is gone' }],
      handle: deleteSkill,
    },
    {
      method: 'GET',
      path: '/v1/skills/:name/usage',
      scope: 'skills:read',
      operation: 'listSkillUsage',
      summary: 'Which turns used a skill, and of which release',
      description: 'Told by sessions when a turn ends, so it may lag. It outlives the skill and the session.',
      query: pageQuery,
      responses: [
        {
          status: 200,
          description: 'A page',
          content: { 'application/json': { name: 'SkillUsagePage', schema: pageOf(skillUsage) } },
        },
      ],
      handle: listUsage,
    },
    {
      method: 'GET',
      path: '/v1/audit/skills',
      scope: 'skills:read',
      operation: 'auditSkills',
      summary: "Every change of the tenant's skills",
      query: pageQuery,
      responses: [
        {
          status: 200,
          description: 'A page',
          content: { 'application/json': { name: 'SkillAuditPage', schema: pageOf(skillAuditEvent) } },
        },
      ],
      handle: listAudit,
    },
  ];
}

async function putSkill(c: AppContext): Promise<Response> {
  const name = skillInPath(c);
  const files = await readFolder(c.req.raw);
  // The parser brings YAML with it, which nothing else in the worker needs.
  const { buildSkillFolder } = await import('../../durable/skills/folder.ts');
  const built = buildSkillFolder(name, files);
  if (built.kind === 'rejected') throw describeRejection(built.diagnostics);
  const { entry, warnings } = built;
  const { tenant, keyId } = c.var.caller;
  const contents = [...built.contents].map(([digest, bytes]) => ({ digest, bytes }));
  const { manifest, before } = await readOutcome(
    directoryObject(c).putSkill({ tenant, by: `key:${keyId}`, entry, contents }),
  );
  const answer: z.infer<typeof storedSkill> = { ...describeSkill(entry, 'tenant'), manifest, warnings };
  return before === null ? c.json(answer, 201, { location: `/v1/skills/${name}` }) : c.json(answer, 200);
}

async function deleteSkill(c: AppContext): Promise<Response> {
  const name = skillInPath(c);
  const { tenant, keyId } = c.var.caller;
  try {
    await readOutcome(directoryObject(c).deleteSkill({ tenant, by: `key:${keyId}`, name }));
  } catch (error) {
    if (!(error instanceof PerchError) || error.data.code !== 'skill_unknown') throw error;
    const view = await viewSkills(c);
    const isDeployments = view.find(name) !== undefined && view.layerOf(name) === 'deployment';
    throw isDeployments
      ? skillUnknown(`The skill "${name}" is the deployment's: put one of your own over it, or leave it.`, {
          name,
        })
      : error;
  }
  return c.body(null, 204);
}

async function listUsage(c: AppContext): Promise<Response> {
  const name = skillInPath(c);
  return c.json(await reachObject(directoryObject(c).listUses(name, readPage(c))));
}

async function listAudit(c: AppContext): Promise<Response> {
  return c.json(await reachObject(directoryObject(c).auditSkills(readPage(c))));
}

function readPage(c: AppContext): { limit: number; after: number | null } {
  const { limit, after } = parseWith(pageQuery, c.req.query());
  return { limit, after: after ?? null };
}

function describeRejection(diagnostics: Diagnostic[]): PerchError {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  const where = first === undefined ? 'It' : `${first.file}:${first.line}: ${first.message}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return skillRejected(`${where}${more}`, { diagnostics: diagnostics.slice(0, MAX_DIAGNOSTICS) });
}
