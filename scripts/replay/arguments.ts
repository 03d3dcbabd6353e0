import { parseArgs } from 'node:util';

export const USAGE = `npm run replay -- FILE [--skills DIR] [--json]
npm run replay -- FILE --from SEQ (--with-model ROUTE | --with-skill DIR | --with-persona FILE)
                  [--live] [--live-tools] [--out FILE] [--skills DIR] [--json]

FILE is an export with its bytes: GET /v1/sessions/:id/export?include=blobs
--skills DIR         the folder of skills; skills/ where absent
--deployment FILE    a module that exports \`deployment\`; durable/deployment.ts where absent
--from SEQ           takes the log up to there as it is, and re-runs the rest with one thing changed
--with-model ROUTE   provider/model: really asked, with the keys of .dev.vars and the environment
--with-skill DIR     the folder of one skill
--with-persona FILE  a template
--live               asks the session's own model, too, in the place of its recorded answers
--live-tools         runs the tools
--out FILE           writes the re-run as an export of its own
Exits with 0 where nothing differs, 1 where something does, 2 where FILE is no recording or the command is wrong.`;

export interface Change {
  kind: 'model' | 'skill' | 'persona';
  /** A route, a folder, a file. */
  value: string;
}

export interface ReplayArguments {
  file: string;
  skills: string;
  deployment: string | null;
  /** Null re-runs the whole session with nothing changed. */
  variation: { from: number; change: Change; live: boolean; liveTools: boolean } | null;
  out: string | null;
  json: boolean;
}

export type ParsedArguments =
  | ({ kind: 'replay' } & ReplayArguments)
  | { kind: 'help' }
  | { kind: 'invalid'; message: string };

const OPTIONS = {
  skills: { type: 'string', default: 'skills' },
  deployment: { type: 'string' },
  from: { type: 'string' },
  'with-model': { type: 'string' },
  'with-skill': { type: 'string' },
  'with-persona': { type: 'string' },
  live: { type: 'boolean', default: false },
  'live-tools': { type: 'boolean', default: false },
  out: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** What is asked for; `invalid` says in one line what is wrong. */
export function parseReplayArguments(args: readonly string[]): ParsedArguments {
  let parsed: ReturnType<typeof readOptions>;
  try {
    parsed = readOptions(args);
  } catch (error) {
    return { kind: 'invalid', message: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    return { kind: 'invalid', message: 'One file is replayed at a time.' };
  const variation = readVariation(values);
  if (typeof variation === 'string') return { kind: 'invalid', message: variation };
  const { skills, deployment = null, out = null, json } = values;
  return { kind: 'replay', file, skills, deployment, variation, out, json };
}

function readOptions(args: readonly string[]) {
  return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
}

/** A sentence where the options do not go together. */
function readVariation(
  values: ReturnType<typeof readOptions>['values'],
): ReplayArguments['variation'] | string {
  const changes: Change[] = (['model', 'skill', 'persona'] as const).flatMap((kind) => {
    const value = values[`with-${kind}`];
    return value === undefined ? [] : [{ kind, value }];
  });
  const { from, live, 'live-tools': liveTools } = values;
  if (from === undefined) {
    const given = changes.length > 0 || live || liveTools;
    return given ? '--with-…, --live and --live-tools go with --from SEQ.' : null;
  }
  if (!/^[1-9]\d{0,8}$/.test(from)) return `--from takes the seq of an event, not ${from}.`;
  const [change, ...others] = changes;
  if (!change || others.length > 0) {
    return 'With --from, one thing changes: --with-model, --with-skill or --with-persona.';
  }
  return { from: Number(from), change, live, liveTools };
}
