/**
 * `npm run skills:push -- [--local | --remote] [--canary PERCENT] [--dir skills] [--strict] [--persist-to DIR]`: checks
 * the skills, runs their tests and publishes them, to all sessions or to a share of them. A release is whole: where
 * anything is wrong, nothing is published and the exit code is 1.
 */
import { parseArgs } from 'node:util';
import { bundleSkills } from './bundle.ts';
import { parsePercent, readPlace } from './place.ts';
import { publishRelease } from './releases.ts';
import { formatBundle, hasRejected } from './report.ts';
import { DEFAULT_STATE, withStore } from './store.ts';
import { runSkillTests } from './tests.ts';

const { values } = parseArgs({
  options: {
    local: { type: 'boolean', default: false },
    remote: { type: 'boolean', default: false },
    canary: { type: 'string' },
    dir: { type: 'string', default: 'skills' },
    strict: { type: 'boolean', default: false },
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
  const place = readPlace(values);
  const share = values.canary === undefined ? {} : { canary: parsePercent(values.canary) };
  const bundle = await bundleSkills(values.dir, { mode: values.strict ? 'strict' : 'extended' });
  const checked = { ...bundle, diagnostics: [...bundle.diagnostics, ...runSkillTests(bundle).failures] };
  console.log(formatBundle(checked));
  if (hasRejected(checked)) {
    console.error('Nothing was published: mend the errors above, or take the skills out.');
    return 1;
  }
  await withStore(place, (store) => publishRelease(store, bundle, share));
  const where = place.kind === 'remote' ? 'remote KV' : `local KV (${place.persistTo})`;
  const who = share.canary === undefined ? '' : ` for ${share.canary} % of the sessions`;
  console.log(
    `Published ${bundle.skills.length} skills to ${where}${who}: manifest ${bundle.manifest.digest.slice(0, 12)}.`,
  );
  return 0;
}
