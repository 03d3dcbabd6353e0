/** The fields of a SKILL.md header: the Agent Skills specification's, and the two policies (DESIGN section 6). */

import type { Node, YAMLMap } from 'yaml';
import { isMap, isScalar, visit } from 'yaml';
import { isSkillName, NAME_RULE } from './gesture.ts';
import { isPolicyLike, MODEL_POLICY, USER_POLICY } from './header-repair.ts';
import { type Reading, readReason, readScalar, readValue, report, resolveNode } from './header-yaml.ts';
import { isNearLimit } from './limits.ts';

/** What a header says, checked. */
export interface SkillHeader {
  name: string;
  description: string;
  userInvocable: boolean;
  modelInvocable: boolean;
  license?: string;
  compatibility?: string;
  metadata?: Record<string, string>;
  allowedTools?: string;
}

/** The specification's limits, in code points. */
const SPECIFIED_DESCRIPTION_LENGTH = 1024;
const MAX_COMPATIBILITY_LENGTH = 500;
/**
 * What the extended mode takes, with a warning: skills by others are a little over the specification's limit, and the
 * catalog cuts what it shows anyway.
 */
const MAX_DESCRIPTION_LENGTH = 2 * SPECIFIED_DESCRIPTION_LENGTH;

const TRUE = new Set(['true', 'yes', 'on', '1']);
const FALSE = new Set(['false', 'no', 'off', '0']);
const OTHER_FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];
const FIELDS = new Set([...OTHER_FIELDS, MODEL_POLICY, USER_POLICY]);

interface Field {
  key: string;
  /** Offset of the key in the header. */
  at: number;
  node: Node | null;
}

/** Null where a field that a skill cannot do without is missing or wrong; the reasons are in the diagnostics. */
export function readHeader(reading: Reading, folder: string): SkillHeader | null {
  const { contents, warnings } = reading.document;
  for (const warning of warnings) {
    const message = `${readReason(warning)}; the value was read as text.`;
    report(reading, 'warning', warning.pos[0], 'yaml_tag', message);
  }
  if (contents !== null && !isMap(contents)) {
    report(reading, 'error', 0, 'header_not_fields', 'The header must be fields: `name: value`, one a line.');
    return null;
  }
  const fields = contents === null ? new Map<string, Field>() : collectFields(reading, contents);
  const name = readName(reading, fields.get('name'), folder);
  const description = readDescription(reading, fields.get('description'));
  const disabled = readPolicy(reading, fields.get(MODEL_POLICY), false);
  const userInvocable = readPolicy(reading, fields.get(USER_POLICY), true);
  const license = readText(reading, fields.get('license'));
  const compatibility = readCompatibility(reading, fields.get('compatibility'));
  const metadata = readMetadata(reading, fields.get('metadata'));
  const allowedTools = readAllowedTools(reading, fields.get('allowed-tools'));
  if (name === null || description === null || disabled === null || userInvocable === null) return null;
  return {
    name,
    description,
    userInvocable,
    modelInvocable: !disabled,
    ...(license === undefined ? {} : { license }),
    ...(compatibility === undefined ? {} : { compatibility }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
  };
}

/** A policy in another spelling or another place is an error: to pass over it would fail open. */
function collectFields(reading: Reading, map: YAMLMap): Map<string, Field> {
  const fields = new Map<string, Field>();
  for (const field of listFields(reading, map)) {
    const { key, at } = field;
    fields.set(key, field);
    if (reading.strict && (key === MODEL_POLICY || key === USER_POLICY)) {
      report(reading, 'error', at, 'field_not_specified', `\`${key}\` is not a field of the specification.`);
    }
    if (FIELDS.has(key)) continue;
    if (isPolicyLike(key)) {
      const message = `\`${key}\` is not a field; write \`${MODEL_POLICY}\` or \`${USER_POLICY}\`.`;
      report(reading, 'error', at, 'policy_misspelt', message);
    } else report(reading, 'warning', at, 'field_unknown', `\`${key}\` is not used here.`);
  }
  visit(reading.document, {
    Pair(_, { key }, path) {
      const nested = path.length > 2;
      if (!nested || !isScalar(key) || typeof key.value !== 'string' || !isPolicyLike(key.value)) return;
      const message = `\`${key.value}\` has no effect inside another field: it is a field of the header.`;
      report(reading, 'error', key.range?.[0] ?? 0, 'policy_misplaced', message);
    },
  });
  return fields;
}

function listFields(reading: Reading, map: YAMLMap): Field[] {
  const fields: Field[] = [];
  for (const { key, value } of map.items) {
    if (!isScalar(key) || typeof key.value !== 'string') continue;
    fields.push({ key: key.value, at: key.range?.[0] ?? 0, node: resolveNode(reading, value) });
  }
  return fields;
}

function readName(reading: Reading, field: Field | undefined, folder: string): string | null {
  const name = readScalar(field?.node);
  if (field === undefined || name === null || name === '') {
    report(
      reading,
      'error',
      field?.at ?? 0,
      'name_missing',
      'The header has no `name`, or one that is not text.',
    );
    return null;
  }
  warnOfComment(reading, field);
  if (!isSkillName(name)) {
    const message = `The name ${JSON.stringify(name)} is not valid: ${NAME_RULE}.`;
    report(reading, 'error', field.at, 'name_invalid', message);
    return null;
  }
  if (name !== folder) {
    const message = `The name ${JSON.stringify(name)} differs from its folder, ${JSON.stringify(folder)}.`;
    report(reading, 'error', field.at, 'name_not_folder', message);
    return null;
  }
  return name;
}

function readDescription(reading: Reading, field: Field | undefined): string | null {
  const fail = (code: string, message: string): null => {
    report(reading, 'error', field?.at ?? 0, code, message);
    return null;
  };
  const missing = 'The header has no `description`.';
  if (field === undefined) return fail('description_missing', missing);
  warnOfComment(reading, field);
  const text = readScalar(field.node);
  if (text === null) return fail('description_not_text', 'The `description` must be text: quote it.');
  const description = text.trim();
  const length = countCodePoints(description);
  if (length === 0) return fail('description_missing', missing);
  const measured = `The \`description\` has ${length} characters`;
  if (length > MAX_DESCRIPTION_LENGTH) {
    return fail('description_too_long', `${measured}; ${MAX_DESCRIPTION_LENGTH} are allowed.`);
  }
  if (length > SPECIFIED_DESCRIPTION_LENGTH) {
    const message = `${measured}; the specification allows ${SPECIFIED_DESCRIPTION_LENGTH}.`;
    report(reading, 'warning', field.at, 'description_over_specification', message);
  } else if (isNearLimit(length, SPECIFIED_DESCRIPTION_LENGTH)) {
    const message = `${measured} of the ${SPECIFIED_DESCRIPTION_LENGTH} that are allowed.`;
    report(reading, 'warning', field.at, 'near_limit_description', message);
  }
  return description;
}

/** Fails closed: a value that is not plainly yes or no rejects the skill. */
function readPolicy(reading: Reading, field: Field | undefined, absent: boolean): boolean | null {
  if (field === undefined) return absent;
  const value = readScalar(field.node);
  const word = value?.toLowerCase() ?? '';
  if (TRUE.has(word)) return true;
  if (FALSE.has(word)) return false;
  const found = value === null ? 'a list or a map' : JSON.stringify(value);
  const message = `\`${field.key}\` must be true or false (or yes, no, on, off, 1, 0), not ${found}.`;
  report(reading, 'error', field.at, 'policy_invalid', message);
  return null;
}

/** An optional text; a list or a map is kept as JSON, with a warning. */
function readText(reading: Reading, field: Field | undefined): string | undefined {
  if (field === undefined || field.node === null) return undefined;
  warnOfComment(reading, field);
  const text = readScalar(field.node)?.trim();
  if (text !== undefined) return text === '' ? undefined : text;
  report(
    reading,
    'warning',
    field.at,
    'field_not_text',
    `\`${field.key}\` must be text; it was kept as JSON.`,
  );
  return JSON.stringify(readValue(reading, field.node));
}

function readCompatibility(reading: Reading, field: Field | undefined): string | undefined {
  const text = readText(reading, field);
  if (field !== undefined && text !== undefined && countCodePoints(text) > MAX_COMPATIBILITY_LENGTH) {
    const message = `\`compatibility\` is longer than the specification's ${MAX_COMPATIBILITY_LENGTH} characters.`;
    report(reading, 'warning', field.at, 'compatibility_too_long', message);
  }
  return text;
}

/** The specification has one text with spaces between the tools; a list of them is joined, with a warning. */
function readAllowedTools(reading: Reading, field: Field | undefined): string | undefined {
  if (field === undefined || field.node === null || isScalar(field.node)) return readText(reading, field);
  const value = readValue(reading, field.node);
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    return readText(reading, field);
  const message = '`allowed-tools` is one text with spaces between the tools; the list was joined.';
  report(reading, 'warning', field.at, 'field_not_text', message);
  return value.length === 0 ? undefined : value.join(' ');
}

function readMetadata(reading: Reading, field: Field | undefined): Record<string, string> | undefined {
  if (field === undefined || field.node === null || readScalar(field.node) === '') return undefined;
  if (!isMap(field.node)) {
    report(
      reading,
      'warning',
      field.at,
      'metadata_not_map',
      '`metadata` must be a map of texts; it was left out.',
    );
    return undefined;
  }
  const pairs = listFields(reading, field.node).map((entry): [string, string] => [
    entry.key,
    readText(reading, { ...entry, key: `metadata.${entry.key}` }) ?? '',
  ]);
  return Object.fromEntries(pairs);
}

/** YAML ends a plain value at ` #`, which the author may not have meant. */
function warnOfComment(reading: Reading, field: Field): void {
  const { node, key } = field;
  if (!isScalar(node) || node.type !== 'PLAIN' || !node.range) return;
  const [, end] = node.range;
  const rest = reading.header.slice(end).split('\n', 1)[0]?.trim() ?? '';
  if (!rest.startsWith('#')) return;
  const message = `YAML reads ${JSON.stringify(rest)} as a comment, so \`${key}\` ends before it. Quote the value.`;
  report(reading, 'warning', end, 'comment_cuts_value', message);
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
