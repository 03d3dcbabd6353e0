/**
 * Whether the schema of somebody else's tool can be shown to a provider. It is passed through and not enforced: the
 * server checks arguments itself and says in its own words what is wrong, while a second validator here would differ in
 * dialect and run patterns that others wrote. What a provider would refuse the whole request for is kept out. Pure.
 */
import { z } from 'zod';
import type { JsonSchema } from '../types.ts';

/** JSON text: a schema longer than this costs a prompt more than its tool is worth. */
const MAX_CHARS = 32 * 1024;
const MAX_DEPTH = 24;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Providers take none of these at the top; the server still enforces them. */
const NOT_AT_TOP = new Set(['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else', '$schema', '$id']);
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const LISTS = ['oneOf', 'anyOf', 'allOf', 'prefixItems'];
const SINGLE = ['additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];

const jsonObject = z.record(z.string(), z.json());

export type CheckedSchema = { ok: true; schema: JsonSchema } | { ok: false; reason: string };

export function checkSchema(value: unknown): CheckedSchema {
  // Before anything walks it recursively.
  if (!isShallow(value, MAX_DEPTH)) return refuse(`it is nested more than ${MAX_DEPTH} deep`);
  const parsed = jsonObject.safeParse(value);
  if (!parsed.success) return refuse('it is no JSON object');
  if (JSON.stringify(parsed.data).length > MAX_CHARS)
    return refuse(`it is longer than ${MAX_CHARS} characters`);
  const wrong = findFault(parsed.data, 'the schema');
  if (wrong !== null) return refuse(wrong);
  if (parsed.data['type'] !== 'object') return refuse('its type is not object');
  const kept = Object.entries(parsed.data).filter(([key]) => !NOT_AT_TOP.has(key));
  // An object without properties is refused by some providers unless it says that it has none.
  const schema: JsonSchema = { ...Object.fromEntries(kept), properties: parsed.data['properties'] ?? {} };
  return { ok: true, schema: toWellFormed(schema) };
}

function refuse(reason: string): CheckedSchema {
  return { ok: false, reason };
}

/** Lone surrogates would make the whole request unreadable. */
function toWellFormed(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll(/\\ud[89ab][0-9a-f]{2}|\\ud[c-f][0-9a-f]{2}/gi, '\\ufffd');
  return jsonObject.parse(JSON.parse(text));
}

export function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isShallow(member, depth - 1));
}

/** The first thing that is no JSON Schema, in words; null where there is none. */
function findFault(schema: unknown, at: string): string | null {
  if (typeof schema === 'boolean') return null;
  if (!isObject(schema)) return `${at} is neither an object nor a boolean`;
  const { type, required } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (!types.every((name) => typeof name === 'string' && TYPES.has(name)))
    return `the type of ${at} is unknown`;
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((name) => typeof name === 'string'))
  )
    return `required of ${at} is no list of names`;
  if (schema['enum'] !== undefined && !Array.isArray(schema['enum'])) return `enum of ${at} is no list`;
  const ref = schema['$ref'];
  if (ref !== undefined && !(typeof ref === 'string' && ref.startsWith('#')))
    return `${at} refers to another document`;
  return findFaultInside(schema, at);
}

function findFaultInside(schema: Record<string, unknown>, at: string): string | null {
  for (const key of MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map)) return `${key} of ${at} is no object`;
    for (const [name, inner] of Object.entries(map)) {
      const fault = findFault(inner, name);
      if (fault !== null) return fault;
    }
  }
  for (const key of LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0) return `${key} of ${at} is no list of schemas`;
    for (const inner of list) {
      const fault = findFault(inner, `${key} of ${at}`);
      if (fault !== null) return fault;
    }
  }
  const { items } = schema;
  const singles = [...(Array.isArray(items) ? items : [items]), ...SINGLE.map((key) => schema[key])];
  for (const inner of singles) {
    const fault = inner === undefined ? null : findFault(inner, `a part of ${at}`);
    if (fault !== null) return fault;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
