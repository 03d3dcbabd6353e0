/**
 * `npm run replay -- FILE`: re-runs an exported session against today's deployment and says what differs. With `--from`
 * and `--with-…`, re-runs its rest with one thing changed and shows both.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { deployment as ours } from '../durable/deployment.ts';
import type { DeploymentDefinition } from '../durable/plugins.ts';
import { parseReplayArguments, type ReplayArguments, USAGE } from './replay/arguments.ts';
import { NotARecording, type RecordedSession, readRecording } from './replay/recorded-session.ts';
import { type Replayed, replaySession, varySession } from './replay/replay-session.ts';
import { readSkills } from './replay/replay-skills.ts';
import { countSession, reportReplay, reportVariation } from './replay/report.ts';
import { readIfThere } from './start/dev-vars.ts';
import { DEV_VARS } from './start/paths.ts';

const exported = z.looseObject({
  deployment: z.custom<DeploymentDefinition>((value) => typeof value === 'object' && value !== null),
});

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const wanted = parseReplayArguments(args);
  if (wanted.kind === 'help') {
    console.log(USAGE);
    return 0;
  }
  if (wanted.kind === 'invalid') {
    console.error(`${wanted.message}\n\n${USAGE}`);
    return 2;
  }
  try {
    const session = readRecording(await readFile(wanted.file, 'utf8'));
    const replayed = await run(session, wanted);
    if (wanted.out !== null) await writeFile(wanted.out, replayed.exported);
    console.log(describe(session, replayed, wanted));
    return replayed.differences.length > 0 ? 1 : 0;
  } catch (error) {
    if (error instanceof NotARecording) console.error(`${wanted.file}: ${error.message}`);
    else console.error(error instanceof Error ? error.message : error);
    return 2;
  }
}

async function run(session: RecordedSession, wanted: ReplayArguments): Promise<Replayed> {
  const id = basename(wanted.file).replace(/\.[^.]*$/, '');
  const deployment = await loadDeployment(wanted.deployment);
  if (!wanted.variation) return replaySession(session, id, deployment, await readSkills(wanted.skills, null));
  return varySession(session, id, deployment, wanted.skills, wanted.variation, await readEnv());
}

async function loadDeployment(file: string | null): Promise<DeploymentDefinition> {
  if (file === null) return ours;
  const loaded = exported.safeParse(await import(pathToFileURL(resolve(file)).href));
  if (!loaded.success) throw new Error(`${file} exports no \`deployment\``);
  return loaded.data.deployment;
}

/** The environment over `.dev.vars`, as the development server has it. */
async function readEnv(): Promise<Record<string, unknown>> {
  const lines = (await readIfThere(DEV_VARS))?.split('\n') ?? [];
  const pairs = lines.flatMap((line) => {
    const [, name, value = ''] = /^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value.replace(/^(["'])(.*)\1$/, '$2')]];
  });
  return { ...Object.fromEntries(pairs), ...process.env };
}

function describe(
  session: RecordedSession,
  replayed: Replayed,
  { variation, json }: ReplayArguments,
): string {
  const counts = countSession(replayed.events);
  const { differences, notes, events } = replayed;
  if (json) return JSON.stringify({ same: differences.length === 0, differences, notes, counts }, null, 2);
  const report = reportReplay({ differences, notes }, counts);
  if (!variation) return report;
  return `${reportVariation(session.events, events, variation.from)}\n\n${report}`;
}
