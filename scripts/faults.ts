/**
 * `npm run test:faults`: kills session objects at every fault point and checks what is left.
 *
 *   --only <scenario>[:<point>:<hit>:<mode>[:<after>:<mode>]]   one scenario, or one case as a failure prints it
 *   --limit N                                                   cases of a scenario; `all` for every one
 *   --process [--rounds N] [--sessions N]                       kills workerd itself under load, N times
 *
 * Ends with one line of what was tried and found; exit code 1 where anything was.
 */
import { parseArgs } from 'node:util';
import { runVisibly } from './check/command.ts';
import { formatProcessReport, runProcessTest } from './faults/process.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    limit: { type: 'string', default: '' },
    process: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '40' },
  },
});

if (options.process) {
  const report = await runProcessTest({
    rounds: Number(options.rounds),
    sessions: Number(options.sessions),
    log: (line) => console.log(line),
  });
  console.log(formatProcessReport(report));
  process.exitCode = report.findings.length === 0 ? 0 : 1;
} else {
  process.env['FAULTS_ONLY'] = options.only;
  process.env['FAULTS_LIMIT'] = options.limit === 'all' ? String(Number.MAX_SAFE_INTEGER) : options.limit;
  process.exitCode = await runVisibly('vitest', [
    'run',
    '--project',
    'faults',
    '--reporter=default',
    '--reporter=./scripts/faults/reporter.ts',
  ]);
}
