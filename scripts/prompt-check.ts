/**
 * Renders the prompt of every agent of the deployment, with the skills of this checkout, as a session's first step
 * would be told it. Exit code 1 names the agent, the section and the reason.
 */
import { fileURLToPath } from 'node:url';
import { resolveDeployment } from '../durable/composition.ts';
import { deployment } from '../durable/deployment.ts';
import { PerchError } from '../durable/errors.ts';
import type { DeploymentDefinition } from '../durable/plugins.ts';
import { type PromptView, previewPrompt } from '../durable/prompt/index.ts';
import type { SkillView } from '../durable/skills/types.ts';
import { sha256Hex } from '../durable/storage/digest.ts';
import { type Bundle, bundleSkills } from './skills/bundle.ts';

export interface PromptFault {
  /** Null where the deployment as a whole is wrong. */
  agent: string | null;
  section: string | null;
  code: string;
  message: string;
}

export interface PromptCheck {
  faults: PromptFault[];
  prompts: { agent: string; view: PromptView }[];
}

/** A draft that names a skill makes the lanes run as well. */
const DRAFT = 'Hello.';

export async function checkPrompts(
  definition: DeploymentDefinition,
  skills: SkillView,
): Promise<PromptCheck> {
  const check: PromptCheck = { faults: [], prompts: [] };
  const attempt = async <T>(agent: string | null, work: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      check.faults.push(describeFault(agent, error));
      return null;
    }
  };
  const resolved = await attempt(null, () => resolveDeployment(definition));
  if (resolved === null) return check;
  for (const { name } of resolved.agents) {
    const request = { agent: name, model: null, cwd: null, persona: null, text: DRAFT };
    const view = await attempt(name, () => previewPrompt(resolved, { ...request, skills }));
    if (view !== null) check.prompts.push({ agent: name, view });
  }
  return check;
}

/** A bundle as a step reads it, without KV. */
export function viewBundle({ skills, manifest, entries }: Bundle): SkillView {
  const contents = new Map(entries.map(({ bytes }) => [sha256Hex(bytes), bytes]));
  const read = (digest: string): Uint8Array => contents.get(digest) ?? new Uint8Array();
  return {
    tenantManifest: null,
    manifest: manifest.digest,
    entries: skills,
    find: (name) => skills.find((skill) => skill.name === name),
    layerOf: () => 'deployment',
    body: async ({ body }) => new TextDecoder().decode(read(body)),
    resource: async ({ digest }) => read(digest),
  };
}

export function formatFault({ agent, section, code, message }: PromptFault): string {
  const where = [
    agent === null ? 'the deployment' : `agent ${agent}`,
    ...(section === null ? [] : [`section ${section}`]),
  ];
  return `${where.join(', ')}: ${code}: ${message}`;
}

function describeFault(agent: string | null, error: unknown): PromptFault {
  if (!(error instanceof PerchError)) {
    return {
      agent,
      section: null,
      code: 'failed',
      message: error instanceof Error ? error.message : String(error),
    };
  }
  const { code, detail, facts } = error.data;
  const { section = null } = facts;
  return { agent, section: typeof section === 'string' ? section : null, code, message: detail };
}

async function main(): Promise<void> {
  const skills = viewBundle(await bundleSkills(fileURLToPath(new URL('../skills', import.meta.url))));
  const { faults, prompts } = await checkPrompts(deployment, skills);
  for (const fault of faults) console.error(formatFault(fault));
  if (faults.length > 0) process.exitCode = 1;
  const sizes = prompts.map(({ agent, view }) => `${agent} ${view.system.tokens + view.tools.tokens}`);
  console.log(`tokens of each agent's prompt and tools: ${sizes.join(', ')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
