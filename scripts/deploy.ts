/**
 * `npm run deploy`: the check, the skills to remote KV, then the worker. It goes nowhere before the
 * account has what the worker needs. The way there is in docs/deploy.md.
 */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { runCommand, runVisibly } from './check/command.ts';

const REQUIRED_SECRETS = ['OBJECT_NAME_SECRET'];
/** What the platform gives a namespace. */
const KV_ID = /^[0-9a-f]{32}$/;

const config = z.object({
  kv_namespaces: z.array(z.object({ binding: z.string(), id: z.string().optional() })),
});
const secretList = z.array(z.object({ name: z.string() }));

export interface DeployState {
  namespaces: readonly { binding: string; id?: string | undefined }[];
  /** Null where the worker does not exist yet. */
  secrets: readonly string[] | null;
}

/** What stands in the way, each with the command that clears it. */
export function findObstacles({ namespaces, secrets }: DeployState): string[] {
  const missing = namespaces
    .filter(({ id }) => id === undefined || !KV_ID.test(id))
    .map(({ binding, id = 'none' }) => {
      const how = `npx wrangler kv namespace create ${binding}`;
      return `wrangler.toml: the KV namespace ${binding} has the local id ${JSON.stringify(id)}. Create one and put its id there:\n  ${how}`;
    });
  const unset = REQUIRED_SECRETS.filter((name) => !secrets?.includes(name)).map(
    (name) => `The secret ${name} is not set:\n  openssl rand -hex 32 | npx wrangler secret put ${name}`,
  );
  return [...missing, ...unset];
}

async function readNamespaces(): Promise<DeployState['namespaces']> {
  const { unstable_readConfig } = await import('wrangler');
  return config.parse(unstable_readConfig({ config: 'wrangler.toml' })).kv_namespaces;
}

/** Throws where wrangler has no account to ask. */
async function readSecrets(): Promise<DeployState['secrets']> {
  const { ok, output } = await runCommand('wrangler', ['secret', 'list', '--format', 'json']);
  if (ok) return secretList.parse(JSON.parse(output.slice(output.indexOf('[')))).map(({ name }) => name);
  // 10007: the account has no worker of this name.
  if (output.includes('10007')) return null;
  throw new Error(`The account cannot be asked (npx wrangler login):\n${output.trim()}`);
}

async function deploy(): Promise<number> {
  const namespaces = await readNamespaces();
  // The file first: it can be read without an account.
  const local = findObstacles({ namespaces, secrets: REQUIRED_SECRETS });
  const obstacles = local.length > 0 ? local : findObstacles({ namespaces, secrets: await readSecrets() });
  if (obstacles.length > 0) {
    console.error(`Not deployed.\n\n${obstacles.join('\n\n')}\n\ndocs/deploy.md has the whole way.`);
    return 1;
  }
  const steps: [string, string[]][] = [
    ['node', ['scripts/check/run.ts']],
    ['node', ['scripts/skills/push.ts', '--remote']],
    ['wrangler', ['deploy']],
  ];
  for (const [name, args] of steps) {
    const code = await runVisibly(name, args);
    if (code !== 0) return code;
  }
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  process.exitCode = await deploy().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  });
}
