/**
 * The lenient reading of a header that is not YAML: a value that was meant as text is quoted. Two mistakes are common
 * enough to mend, an unquoted colon (`description: Use when: …`) and text in brackets (`argument-hint: [pr] [mode]`).
 * A repair must never loosen a policy, so whatever could hide a policy field is left broken.
 */
import { parseDocument } from 'yaml';

/** The policy fields, under which a skill is withheld from the model or from people. */
export const MODEL_POLICY = 'disable-model-invocation';
export const USER_POLICY = 'user-invocable';

export interface HeaderRepair {
  /** The header with the same number of lines. */
  header: string;
  /** What was quoted; `line` counts from 1 in the header. */
  repaired: { key: string; line: number }[];
}

interface Entry {
  key: string;
  line: number;
  /** The entry's lines as they are, its key included. */
  lines: string[];
  /** What follows the colon, and the lines that belong to it. */
  value: string;
}

const KEY = /^([A-Za-z0-9_-]+)[ \t]*:(?:[ \t]+(.*))?$/;
/** Quotes and block scalars say where they end; where they do not, guessing could swallow the next field. */
const DELIMITED = /^["'|>]/;

/** Null where there is nothing to quote, or where quoting would be a guess. */
export function repairHeader(header: string): HeaderRepair | null {
  const entries = splitEntries(header);
  if (entries === null) return null;
  const repaired: HeaderRepair['repaired'] = [];
  const lines: string[] = [];
  for (const entry of entries) {
    if (isYaml(entry.lines.join('\n'))) {
      lines.push(...entry.lines);
      continue;
    }
    if (isPolicyLike(entry.key) || mentionsPolicy(entry.value) || DELIMITED.test(entry.value)) return null;
    repaired.push({ key: entry.key, line: entry.line });
    lines.push(`${entry.key}: ${JSON.stringify(entry.value)}`, ...entry.lines.slice(1).map(() => ''));
  }
  return repaired.length === 0 ? null : { header: lines.join('\n'), repaired };
}

/** Whether a key is a policy field in another spelling (`disable_model_invocation`, `userInvocable`), or is one. */
export function isPolicyLike(key: string): boolean {
  const letters = key.toLowerCase().replace(/[^a-z]/g, '');
  return letters === 'disablemodelinvocation' || letters === 'userinvocable';
}

function mentionsPolicy(value: string): boolean {
  return value
    .toLowerCase()
    .split(/[^a-z_-]+/)
    .some(isPolicyLike);
}

function isYaml(text: string): boolean {
  const document = parseDocument(text, { schema: 'failsafe', logLevel: 'silent' });
  return document.errors.length === 0;
}

/** The top-level fields by line. Null where a line belongs to none: then no field can be mended by itself. */
function splitEntries(header: string): Entry[] | null {
  const entries: Entry[] = [];
  let line = 0;
  for (const raw of header.split('\n')) {
    line++;
    const text = raw.trimEnd();
    const start = KEY.exec(text);
    const last = entries.at(-1);
    if (start?.[1] !== undefined) {
      entries.push({ key: start[1], line, lines: [text], value: (start[2] ?? '').trim() });
    } else if (text === '' || text.startsWith('#') || /^[ \t]/.test(text)) {
      if (last === undefined) {
        if (text !== '' && !text.startsWith('#')) return null;
        entries.push({ key: '', line, lines: [text], value: '' });
        continue;
      }
      last.lines.push(text);
      if (text !== '' && !text.startsWith('#')) last.value = `${last.value} ${text.trim()}`.trim();
    } else return null;
  }
  return entries;
}
