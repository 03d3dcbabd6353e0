/**
 * `npm run skills:push -- [--local | --remote] [--dir skills] [--persist-to DIR]`: checks the skills and publishes
 * them. A release is whole: where a skill has an error, nothing is published and the exit code is 1.
 */
import { parseArgs } from 'node:util';
import { bundleSkills } from './bundle.ts';
import { DEFAULT_STATE, publishLocal, publishRemote } from './publish.ts';
import { formatBundle, hasRejected } from './report.ts';

const { values } = parseArgs({
  options: {
    local: { type: 'boolean', default: false },
    remote: { type: 'boolean', default: false },
    dir: { type: 'string', default: 'skills' },
    'persist-to': { type: 'string', default: DEFAULT_STATE },
  },
});

try {
  process.exitCode = await push();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function push(): Promise<number> {
  if (values.local && values.remote) {
    console.error('Choose --local or --remote.');
    return 2;
  }
  const bundle = await bundleSkills(values.dir);
  console.log(formatBundle(bundle));
  if (hasRejected(bundle)) {
    console.error('Nothing was published: mend the errors above, or take the skills out.');
    return 1;
  }
  if (values.remote) await publishRemote(bundle);
  else await publishLocal(bundle, values['persist-to']);
  const where = values.remote ? 'remote KV' : `local KV (${values['persist-to']})`;
  console.log(
    `Published ${bundle.skills.length} skills to ${where}: manifest ${bundle.manifest.digest.slice(0, 12)}.`,
  );
  return 0;
}
