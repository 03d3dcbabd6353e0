import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resolveDeployment } from '../../durable/composition.ts';
import { createApp } from '../../worker/app.ts';
import { testDeployment } from '../support/deployment.ts';
import { call } from '../support/http.ts';

const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean().optional(),
      }),
    )
    .default([]),
  responses: z.record(z.string(), z.looseObject({})),
});
const openApi = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});

const text = await (await call('/openapi.json')).text();
const document = openApi.parse(JSON.parse(text));
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({ path, method, ...described })),
);

describe('the OpenAPI document', () => {
  it('has every route of the app, and no other', () => {
    const { routes } = createApp(resolveDeployment(testDeployment));
    const registered = routes
      .filter(({ method }) => method !== 'ALL')
      .map(
        ({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')}`,
      );
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(described)).toEqual(new Set(registered));
    expect(described.length).toBeGreaterThan(12);
  });

  it('names each operation once and declares each part of its path', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, parameters } of operations) {
      const declared = parameters.filter(({ in: place, required }) => place === 'path' && required === true);
      expect(declared.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    }
  });

  it('refers only to what it holds', () => {
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? '');
    expect(references.length).toBeGreaterThan(10);
    for (const reference of new Set(references)) {
      const found = reference
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], JSON.parse(text));
      expect(found, reference).toBeTypeOf('object');
    }
  });

  it('describes a response and the problem document for each operation', () => {
    for (const { operationId, responses } of operations) {
      expect(Object.keys(responses).length, operationId).toBeGreaterThan(1);
      expect(responses['default'], operationId).toEqual({ $ref: '#/components/responses/Problem' });
      for (const [status, response] of Object.entries(responses)) {
        expect(status).toMatch(/^([1-5]\d\d|default)$/);
        if (status !== 'default') expect(response['description'], operationId).toBeTypeOf('string');
      }
    }
  });

  it('says what a message is, down to its blocks', () => {
    expect(document.components.schemas['Message']).toMatchObject({
      type: 'object',
      additionalProperties: false,
      oneOf: [{ required: ['text'] }, { required: ['content'] }],
      properties: { delivery: { enum: ['followup', 'steer', 'inject'] } },
    });
  });
});
