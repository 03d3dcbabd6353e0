/**
 * `npm run skills:check [-- --dir skills] [--strict] [--json]`: checks the skills, runs their tests and says what there
 * is to mend. Exit 1 for an error.
 */
import { parseArgs } from 'node:util';
import { bundleSkills } from './bundle.ts';
import { describeBundle, formatBundle, hasRejected } from './report.ts';
import { runSkillTests } from './tests.ts';

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: 'skills' },
    strict: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
try {
  const mode = values.strict ? 'strict' : 'extended';
  const bundle = await bundleSkills(values.dir, { mode });
  const tests = runSkillTests(bundle);
  const checked = { ...bundle, diagnostics: [...bundle.diagnostics, ...tests.failures] };
  if (values.json) console.log(JSON.stringify(describeBundle(checked, { mode, tests }), null, 2));
  else {
    console.log(formatBundle(checked));
    if (tests.run > 0) console.log(`${tests.run} tests, ${tests.failures.length} failed`);
  }
  if (hasRejected(checked)) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
