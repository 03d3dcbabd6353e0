import { z } from 'zod';
import type { AppContext, Route } from '../http/index.ts';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Perch</title>
<h1>Perch</h1>
<p>A durable agent service for the edge: a prompt goes in over HTTPS, an answer streams out, and every session keeps
its own log.</p>
<p>The API is described in <a href="/openapi.json">/openapi.json</a>. How to begin is in README.md, and the rest in
docs/ beside it. <a href="/healthz">/healthz</a> says whether the service answers.</p>
</html>
`;

export function healthRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      scope: null,
      operation: 'readIndex',
      summary: 'What this is',
      responses: [{ status: 200, description: 'A page', content: { 'text/html': null } }],
      handle: (c: AppContext) => c.html(PAGE),
    },
    {
      method: 'GET',
      path: '/healthz',
      scope: null,
      operation: 'checkHealth',
      summary: 'Whether the worker answers and is configured',
      responses: [
        {
          status: 200,
          description: 'It does',
          content: { 'application/json': { name: 'Health', schema: z.object({ status: z.literal('ok') }) } },
        },
      ],
      handle: (c: AppContext) => c.json({ status: 'ok' }),
    },
  ];
}
