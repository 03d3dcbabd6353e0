/**
 * Tools of sources (servers that others run) as the recording's headers have them: nobody is asked. What a header does
 * not say of a tool is read from what became of its calls.
 */
import { z } from 'zod';
import { storedToolSchemas } from '../../durable/models/index.ts';
import type { ResolvedTool } from '../../durable/prompt/index.ts';
import { defineTool, type ToolDefinition } from '../../durable/tools/index.ts';
import type { LogEvent, RequestHeader } from '../../durable/transcript/index.ts';
import type { RecordedSession } from './recorded-session.ts';

export interface StepPlace {
  turn: number;
  step: number;
}

/** The tools whose names begin with `prefix`, of the step that `placeOf` names; after the recording, of its last one. */
export function createRecordedSources(
  { events, blobs }: Pick<RecordedSession, 'events' | 'blobs'>,
  placeOf: () => StepPlace,
): (prefix: string) => ResolvedTool[] {
  const conduct = readConduct(events);
  return (prefix) => {
    const header = findHeader(events, placeOf());
    if (!header) return [];
    const bytes = blobs.get(header.tools.digest);
    const schemas = storedToolSchemas.parse(bytes ? JSON.parse(new TextDecoder().decode(bytes)) : []);
    const owners = new Map(header.tools.names.map(({ name, owner }) => [name, owner]));
    return schemas
      .filter(({ name }) => name.startsWith(prefix))
      .map((schema) => ({ owner: owners.get(schema.name) ?? prefix, tool: defineRecorded(schema, conduct) }));
  };
}

function findHeader(events: readonly LogEvent[], { turn, step }: StepPlace): RequestHeader | null {
  let found: RequestHeader | null = null;
  for (const event of events) {
    if (event.type !== 'request/header') continue;
    if (found && (event.turn > turn || (event.turn === turn && event.step > step))) break;
    found = event.header;
  }
  return found;
}

function defineRecorded(
  { name, description, input }: z.infer<typeof storedToolSchemas>[number],
  { beside, uncertain, asked }: Conduct,
): ToolDefinition {
  return defineTool({
    name,
    description,
    input: z.looseObject({}),
    jsonSchema: z.record(z.string(), z.json()).parse(input),
    parallelSafe: beside.has(name),
    idempotent: !uncertain.has(name),
    approval: (given) => asked.get(keyOf(name, given)) ?? null,
    run() {
      throw new Error('the recording answers for it');
    },
  });
}

interface Conduct {
  /** Tools that ran beside others. */
  beside: Set<string>;
  /** Tools that a restart cut off and that were not run again. */
  uncertain: Set<string>;
  /** What a person was asked about a call, by its tool and arguments. */
  asked: Map<string, string>;
}

function readConduct(events: readonly LogEvent[]): Conduct {
  const conduct: Conduct = { beside: new Set(), uncertain: new Set(), asked: new Map() };
  const inputs = new Map<string, unknown>();
  const running = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'assistant/message') {
      for (const block of event.content) if (block.type === 'tool-call') inputs.set(block.id, block.input);
    }
    if (event.type === 'approval/requested' && event.kind === 'approval')
      conduct.asked.set(keyOf(event.name, inputs.get(event.call)), event.prompt);
    if (event.type === 'tool/call') {
      running.set(event.call, event.name);
      if (running.size > 1) for (const name of running.values()) conduct.beside.add(name);
    }
    if (event.type === 'tool/result') {
      running.delete(event.call);
      if (event.error === 'TOOL_OUTCOME_UNKNOWN') conduct.uncertain.add(event.name);
    }
  }
  return conduct;
}

function keyOf(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input)}`;
}
