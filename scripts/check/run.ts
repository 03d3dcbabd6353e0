/** `npm run check`: everything that can be known without running the service. One line a step; exit code 1 for a fault. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_GZIP_BYTES, MAX_START_GZIP_BYTES, measureBundle } from './bundle-size.ts';
import { type Outcome, runCommand } from './command.ts';
import { checkLimits } from './limits.ts';
import { checkPurity, createCoreMatcher, findStalePatterns } from './purity.ts';
import { formatViolation } from './violation.ts';

interface Step {
  name: string;
  run: () => Promise<Outcome>;
}

const STEPS: readonly Step[] = [
  { name: 'format and lint', run: () => runCommand('biome', ['check', '--error-on-warnings', '.']) },
  { name: 'types of worker and durable', run: () => runCommand('tsc', ['-p', '.']) },
  { name: 'types of scripts', run: () => runCommand('tsc', ['-p', 'scripts']) },
  { name: 'types of test', run: () => runCommand('tsc', ['-p', 'test']) },
  { name: 'unused code and dependencies', run: () => runCommand('knip', ['--no-progress']) },
  { name: 'sizes of files and functions', run: checkSizes },
  { name: 'purity of the core', run: checkCore },
  { name: "prompts of the deployment's agents", run: () => runCommand('node', ['scripts/prompt-check.ts']) },
  { name: 'skills', run: () => runCommand('node', ['scripts/skills/check.ts']) },
  { name: 'bundle', run: checkBundle },
];

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
let failed = 0;
for (const { name, run } of STEPS) {
  const begun = performance.now();
  const { ok, output, note } = await run();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  if (ok) {
    console.log(`ok      ${name}${note === undefined ? '' : `: ${note}`} (${seconds} s)`);
  } else {
    failed += 1;
    console.log(`FAILED  ${name} (${seconds} s)\n${output.trim()}\n`);
  }
}
console.log(failed === 0 ? 'The check is clean.' : `${failed} of ${STEPS.length} steps failed.`);
process.exitCode = failed === 0 ? 0 : 1;

async function checkSizes(): Promise<Outcome> {
  const violations = [];
  for (const path of await listSources(['worker', 'durable', 'scripts'])) {
    violations.push(...checkLimits(path, await readFile(path, 'utf8')));
  }
  return { ok: violations.length === 0, output: violations.map(formatViolation).join('\n') };
}

async function checkCore(): Promise<Outcome> {
  const isCore = createCoreMatcher();
  const paths = await listSources(['worker', 'durable']);
  const faults = findStalePatterns(paths).map(
    (pattern) => `scripts/check/purity.ts: nothing matches ${pattern}`,
  );
  const core = paths.filter(isCore);
  for (const path of core) {
    faults.push(...checkPurity(path, await readFile(path, 'utf8'), isCore).map(formatViolation));
  }
  return { ok: faults.length === 0, output: faults.join('\n'), note: `${core.length} files` };
}

/** Paths relative to the root, `/` between parts. */
async function listSources(folders: readonly string[]): Promise<string[]> {
  const lists = folders.map(async (folder) => {
    const names = await readdir(folder, { recursive: true });
    return names.filter((name) => name.endsWith('.ts')).map((name) => posix.join(folder, name));
  });
  return (await Promise.all(lists)).flat().sort();
}

async function checkBundle(): Promise<Outcome> {
  const outdir = await mkdtemp(join(tmpdir(), 'perch-bundle-'));
  try {
    const built = await runCommand('wrangler', ['deploy', '--dry-run', '--metafile', '--outdir', outdir]);
    if (!built.ok) return built;
    const { gzipBytes, startGzipBytes } = await measureBundle(outdir);
    const note = `${toKb(gzipBytes)} KB gzipped, about ${toKb(startGzipBytes)} of it at the start`;
    const limits = `${toKb(MAX_GZIP_BYTES)} and ${toKb(MAX_START_GZIP_BYTES)} are allowed`;
    const ok = gzipBytes <= MAX_GZIP_BYTES && startGzipBytes <= MAX_START_GZIP_BYTES;
    return { ok, output: `${note}; ${limits}`, note };
  } finally {
    await rm(outdir, { recursive: true, force: true });
  }
}

function toKb(bytes: number): number {
  return Math.round(bytes / 1024);
}
