/** A server's tool as a tool of the loop. */
import { z } from 'zod';
import { mcpError } from '../../errors.ts';
import { defineTool, type ToolContext, type ToolDefinition } from '../types.ts';
import { renderResult } from './content.ts';
import type { Link } from './link.ts';
import { isShallow } from './schema.ts';
import { CALL_TIMEOUT_MS, type ListedTool, type McpServer } from './types.ts';

const MAX_ARGUMENT_CHARS = 1024 * 1024;
const MAX_ARGUMENT_DEPTH = 64;

const anyArguments = z.record(z.string(), z.json());

export function defineListedTool(
  server: McpServer,
  tool: ListedTool,
  linkOf: (context: ToolContext) => Link,
): ToolDefinition {
  const timeoutMs = server.timeoutMs ?? CALL_TIMEOUT_MS;
  const { approval } = server;
  const needsPerson = approval === 'always' || (approval === 'unless-read-only' && !tool.readOnly);
  return defineTool({
    name: tool.name,
    description: tool.description,
    input: requireMembers(tool),
    jsonSchema: tool.schema,
    parallelSafe: tool.readOnly,
    idempotent: tool.idempotent,
    timeoutMs,
    ...(needsPerson
      ? { approval: () => `The tool ${tool.original} of the server ${server.name} wants to run.` }
      : {}),
    async run(input, context) {
      // A second more than the loop gives: its limit fires first, and says so in its own words.
      const link = linkOf(context);
      const result = await link.call(tool, input, timeoutMs + 1_000, context.signal);
      const text = link.redact(renderResult(result));
      const facts = { server: server.name, tool: tool.original };
      if (result.isError !== true) return { content: [{ type: 'text', text: text || '(no output)' }], facts };
      const failed = mcpError(text || 'It failed, and does not say why.').data;
      return {
        content: [{ type: 'text', text: `${failed.code}: ${failed.detail}` }],
        error: failed.code,
        facts,
      };
    },
  });
}

/** What can be said without a validator (see `schema.ts`): that required members are there, and that it is bounded. */
function requireMembers(tool: ListedTool): z.ZodType<Record<string, unknown>> {
  const names = z.array(z.string()).catch([]).parse(tool.schema['required']);
  return z
    .custom<Record<string, unknown>>(
      (value) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        isShallow(value, MAX_ARGUMENT_DEPTH) &&
        anyArguments.safeParse(value).success &&
        JSON.stringify(value).length <= MAX_ARGUMENT_CHARS,
      `an object of JSON, at most ${MAX_ARGUMENT_CHARS} characters and ${MAX_ARGUMENT_DEPTH} deep`,
    )
    .superRefine((value, issues) => {
      for (const name of names) {
        if (!Object.hasOwn(value, name))
          issues.addIssue({ code: 'custom', path: [name], message: 'is required' });
      }
    });
}
