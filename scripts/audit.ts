/**
 * `npm run audit -- EXPORT [--json]`: rebuilds every request of an exported session (`GET …/export?include=blobs`) from
 * its log, checks each against the digest that was logged before it was sent, and tells how far each request extends
 * the one before it. Exits 1 where something does not come out.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type AuditReport, auditSession, parseExport, type RebuiltRequest } from '../durable/audit/index.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const [file] = positionals;
if (file === undefined) {
  console.error('usage: npm run audit -- EXPORT [--json]');
  process.exit(2);
}
let report: AuditReport;
try {
  report = auditSession(parseExport(await readFile(file, 'utf8')));
} catch (error) {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  console.error(`${file}: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`);
  process.exit(2);
}
console.log(values.json ? JSON.stringify(summarise(report), null, 2) : describeReport(report));
process.exitCode = report.findings.length > 0 ? 1 : 0;

function summarise({ events, requests, findings }: AuditReport): object {
  const told = requests.map(({ seq, turn, step, attempt, provider, model, changes, extendsPrevious }) => ({
    seq,
    turn,
    step,
    attempt,
    route: `${provider}/${model}`,
    extends_previous: extendsPrevious,
    changes,
  }));
  return { events, requests: told, findings };
}

function describeReport({ events, requests, findings }: AuditReport): string {
  const later = requests.slice(1);
  const extending = later.filter((request) => request.extendsPrevious);
  const share = later.length === 0 ? 100 : (100 * extending.length) / later.length;
  return [
    ...findings.map(({ seq, problem }) => `seq ${seq}: ${problem}`),
    ...later.filter((request) => !request.extendsPrevious).map(describeBreak),
    `${events} events, ${requests.length} requests rebuilt, ${findings.length} findings`,
    `${extending.length} of ${later.length} requests extend the one before them (${share.toFixed(1)} %)`,
  ].join('\n');
}

/** A request that is no prefix of the next costs a provider's cache: the log says why. */
function describeBreak({ turn, step, changes }: RebuiltRequest): string {
  const why = changes.map(({ part, name, kind }) => `${part}${name === null ? '' : ` ${name}`} ${kind}`);
  return `turn ${turn} step ${step}: ${why.join(', ') || 'the surface was replaced'}`;
}
