/** `npm run skills:check [-- --dir skills]`: checks the skills and says what there is to mend. Exit 1 for an error. */
import { parseArgs } from 'node:util';
import { bundleSkills } from './bundle.ts';
import { formatBundle, hasRejected } from './report.ts';

const { values } = parseArgs({ options: { dir: { type: 'string', default: 'skills' } } });
try {
  const bundle = await bundleSkills(values.dir);
  console.log(formatBundle(bundle));
  if (hasRejected(bundle)) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
