/** Bundles a worker of the benchmark as a deployment would: wrangler's own dry run, over its entry. */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand } from '../check/command.ts';

/** The path of the bundle's one module. `name` is the entry's, below `from`. */
export async function bundleWorker(
  name: string,
  options: { into: string; compatibilityDate: string; from?: string },
): Promise<string> {
  const config = join(options.into, `${name}.wrangler.json`);
  const main = resolve(options.from ?? 'scripts/bench/workers', `${name}.ts`);
  await writeFile(config, JSON.stringify({ name, main, compatibility_date: options.compatibilityDate }));
  const outdir = join(options.into, name);
  await wrangler(['deploy', '--dry-run', '--config', config, '--outdir', outdir]);
  return join(outdir, `${name}.js`);
}

/** Throws where wrangler fails, with what it said. */
export async function wrangler(args: readonly string[]): Promise<void> {
  const { ok, output } = await runCommand('wrangler', args);
  if (!ok) throw new Error(`wrangler ${args.join(' ')} failed:\n${output}`);
}
