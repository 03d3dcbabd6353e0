/**
 * The OpenAPI 3.1 document, from the very declarations that are registered, and made when it is first asked for: so
 * it cannot drift, and costs nothing at start-up. (hono-openapi adds 28 KB gzipped and reads bodies by itself, without
 * our limits.)
 */
import { z } from 'zod';
import { type NamedSchema, problem, type Route } from '../http/index.ts';
import { SESSION_ID } from './objects.ts';

type Json = z.core.JSONSchema.BaseSchema;

const PATH = '/openapi.json';
/** Of the parts of paths; a session's id where nothing else is said. */
const PATTERNS: Record<string, RegExp> = {
  name: /^[a-z0-9]+(-[a-z0-9]+)*$/,
  message: /^msg_[A-Za-z0-9_-]+$/,
  approval: /^apr_[a-f0-9]+$/,
  path: /^[\s\S]+$/,
};
/** A form with a part for each file. */
const FILES = { type: 'object', additionalProperties: { type: 'string', format: 'binary' } };

/** The route of the document over these routes and itself. */
export function describeRoutes(routes: readonly Route[]): Route {
  let document: string | null = null;
  const route: Route = {
    method: 'GET',
    path: PATH,
    scope: null,
    operation: 'readOpenApi',
    summary: 'This document',
    responses: [{ status: 200, description: 'OpenAPI 3.1', content: { 'application/json': null } }],
    handle: (c) => {
      document ??= JSON.stringify(buildDocument([...routes, route]));
      return c.body(document, 200, { 'content-type': 'application/json' });
    },
  };
  return route;
}

export function buildDocument(routes: readonly Route[]): object {
  const components = new Map<string, Json>();
  const failed = { schema: addSchema(components, { name: 'Problem', schema: problem }, 'output') };
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(route, components) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Perch',
      version: '1',
      description:
        'Durable agent sessions. Every error is a problem document (RFC 9457) with a stable `code`.',
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: '`perch_…`: see npm run keys' },
      },
      responses: { Problem: { description: 'An error', content: { 'application/problem+json': failed } } },
      schemas: Object.fromEntries(components),
    },
  };
}

function describeOperation(route: Route, components: Map<string, Json>): object {
  const { operation, summary, description, scope, body, takesFiles, takesBytes } = route;
  const responses = route.responses.map(({ status, description: text, content = {} }) => {
    const media = Object.entries(content).map(([type, schema]) => [
      type,
      schema === null ? {} : { schema: addSchema(components, schema, 'output') },
    ]);
    return [status, { description: text, ...(media.length > 0 && { content: Object.fromEntries(media) }) }];
  });
  const parameters = describeParameters(route);
  return {
    operationId: operation,
    summary,
    ...(description !== undefined && { description }),
    ...(scope === null ? { security: [] } : { 'x-scope': scope }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        content: {
          'application/json': { schema: addSchema(components, body, 'input') },
          ...(takesFiles === true && { 'multipart/form-data': { schema: FILES } }),
        },
      },
    }),
    ...(takesBytes !== undefined && {
      requestBody: { content: Object.fromEntries(takesBytes.map((type) => [type, {}])) },
    }),
    responses: { ...Object.fromEntries(responses), default: { $ref: '#/components/responses/Problem' } },
  };
}

function describeParameters({ path, query, headers = [] }: Route): object[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: (PATTERNS[name ?? ''] ?? SESSION_ID).source },
  }));
  const inHeader = headers.map((header) => ({ ...header, in: 'header', schema: { type: 'string' } }));
  return [...inPath, ...(query === undefined ? [] : describeQuery(query)), ...inHeader];
}

function describeQuery(query: z.ZodObject): object[] {
  const { properties = {}, required = [] } = toJson(query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

/** Puts a schema, and those that it defines for itself, among the components; returns a reference to it. */
function addSchema(
  components: Map<string, Json>,
  { name, schema }: NamedSchema,
  io: 'input' | 'output',
): Json {
  if (!components.has(name)) {
    const { $defs = {}, ...root } = toJson(schema, io);
    const rename = (reference: string): string =>
      reference
        .replace(/^#\/\$defs\//, `#/components/schemas/${name}.`)
        .replace(/^#$/, `#/components/schemas/${name}`);
    const move = (json: Json): Json =>
      JSON.parse(JSON.stringify(json), (key, value: unknown) =>
        key === '$ref' && typeof value === 'string' ? rename(value) : value,
      );
    components.set(name, move(root));
    for (const [part, json] of Object.entries($defs)) components.set(`${name}.${part}`, move(json));
  }
  return { $ref: `#/components/schemas/${name}` };
}

function toJson(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
