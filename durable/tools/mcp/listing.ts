/** A server's list of tools, page by page: what of it is used, under which names, and what is left out. Pure but for `readPage`. */
import { z } from 'zod';
import { nameTools } from './names.ts';
import { checkSchema } from './schema.ts';
import type { Listed, McpServer } from './types.ts';

/** A prompt with more tools of one server is one in which models choose badly; some providers refuse more. */
const MAX_TOOLS = 128;
/** Looked through for the names that `allow` asks for. */
const MAX_SEEN = 10_000;
const MAX_PAGES = 200;
/** Code points. What a tool is for fits; a manual belongs elsewhere. */
const DESCRIPTION_CODE_POINTS = 2_000;
const NAMES_SHOWN = 5;

export const toolPage = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});
export type ToolPage = z.infer<typeof toolPage>;

const hint = z.boolean().optional().catch(undefined);
const toolEntry = z.looseObject({
  name: z.string().min(1).max(256),
  description: z.string().optional().catch(undefined),
  title: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z
    .looseObject({ readOnlyHint: hint, idempotentHint: hint, destructiveHint: hint })
    .optional()
    .catch(undefined),
});
type ToolEntry = z.infer<typeof toolEntry>;

/** Throws what `readPage` throws. */
export async function listTools(
  server: Pick<McpServer, 'name' | 'allow'>,
  readPage: (cursor: string | undefined) => Promise<ToolPage>,
): Promise<Listed> {
  const found = await collect(server.allow, readPage);
  const { entries, notes } = found;
  const names = nameTools(
    server.name,
    entries.map(({ entry }) => entry.name),
  );
  const tools = entries.map(({ entry, schema }, i) => ({
    original: entry.name,
    name: names[i] ?? '',
    description: cleanDescription(entry),
    schema,
    readOnly: entry.annotations?.readOnlyHint === true,
    idempotent: entry.annotations?.readOnlyHint === true || entry.annotations?.idempotentHint === true,
  }));
  return { tools, notes };
}

interface Found {
  entries: { entry: ToolEntry; schema: Listed['tools'][number]['schema'] }[];
  notes: string[];
}

async function collect(
  allow: readonly string[] | undefined,
  readPage: (cursor: string | undefined) => Promise<ToolPage>,
): Promise<Found> {
  const found: Found = { entries: [], notes: [] };
  const names = new Set<string>();
  const cursors = new Set<string>();
  const refused: string[] = [];
  let cursor: string | undefined;
  let seen = 0;
  for (let page = 0; ; page++) {
    const { tools, nextCursor } = await readPage(cursor);
    for (const value of tools) {
      seen += 1;
      const parsed = toolEntry.safeParse(value);
      if (!parsed.success) refused.push(`#${seen} (it is no tool)`);
      else if (!names.has(parsed.data.name) && isAllowed(parsed.data.name, allow)) {
        names.add(parsed.data.name);
        const checked = checkSchema(parsed.data.inputSchema);
        if (checked.ok) found.entries.push({ entry: parsed.data, schema: checked.schema });
        else refused.push(`${parsed.data.name.slice(0, 64)} (${checked.reason})`);
      }
    }
    const isLast = nextCursor === undefined || nextCursor === null || cursors.has(nextCursor);
    const cut = describeCut(found.entries.length, seen, page, isLast);
    if (cut !== null) found.notes.push(cut);
    if (cut !== null || isLast) break;
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  found.entries.length = Math.min(found.entries.length, MAX_TOOLS);
  if (refused.length > 0) found.notes.push(describeRefused(refused));
  return found;
}

/** Why the list is not used, or not read, to its end. */
function describeCut(kept: number, seen: number, page: number, isLast: boolean): string | null {
  const offered = isLast ? String(seen) : `at least ${seen}`;
  if (kept > MAX_TOOLS)
    return `It offers ${offered} tools, and the first ${MAX_TOOLS} are used: name those that are needed in \`allow\`.`;
  if (!isLast && (seen >= MAX_SEEN || page + 1 >= MAX_PAGES))
    return `Its list was read to the ${seen}th tool, and goes on.`;
  return null;
}

function describeRefused(refused: readonly string[]): string {
  const more = refused.length > NAMES_SHOWN ? ` and ${refused.length - NAMES_SHOWN} more` : '';
  return `Left out, because their schema cannot be used: ${refused.slice(0, NAMES_SHOWN).join(', ')}${more}.`;
}

function isAllowed(name: string, allow: readonly string[] | undefined): boolean {
  if (allow === undefined) return true;
  return allow.some((rule) => (rule.endsWith('*') ? name.startsWith(rule.slice(0, -1)) : name === rule));
}

/** The words of others, as data: well-formed, without control characters, and bounded. */
function cleanDescription({ name, description, title }: ToolEntry): string {
  // The first cut spares taking a megabyte apart for two thousand characters.
  const text = (description ?? title ?? '').slice(0, DESCRIPTION_CODE_POINTS * 2 + 2).toWellFormed();
  const points = [...dropControls(text).trim()];
  if (points.length === 0) return `The tool ${dropControls(name.toWellFormed())}.`;
  return points.length <= DESCRIPTION_CODE_POINTS
    ? points.join('')
    : `${points.slice(0, DESCRIPTION_CODE_POINTS).join('')}… (the description goes on)`;
}

function dropControls(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (control) => (control === '\n' || control === '\t' ? control : ''));
}
