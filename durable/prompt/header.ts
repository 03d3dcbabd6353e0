/**
 * A request's header: the rendered system text, the tool schemas and the call's configuration, each by digest, and
 * beside them who said what. It is built only when one of its parts changed.
 */
import { z } from 'zod';
import type { ToolSchema } from '../models/types.ts';
import type { SkillView } from '../skills/types.ts';
import { sha256Hex } from '../storage/digest.ts';
import type { ToolDefinition } from '../tools/types.ts';
import type { RequestHeader } from '../transcript/index.ts';
import type { ResolvedPrompt } from './assemble.ts';
import { estimateTokens } from './tokens.ts';
import type { ModelCall, RenderedPrompt, ResolvedTool } from './types.ts';

export interface HeaderParts {
  agent: string;
  call: ModelCall;
  prompt: ResolvedPrompt;
  rendered: RenderedPrompt;
  skills: SkillView;
}

export interface BuiltHeader {
  header: RequestHeader;
  system: string;
  tools: readonly ToolSchema[];
  /** The tools as they are kept in the blobs. */
  toolsJson: string;
  /** Equal for two headers exactly when nothing that they hold differs. */
  fingerprint: string;
}

const schemas = new WeakMap<ToolDefinition, ToolSchema>();

/** A tool's schema as models get it (JSON Schema draft 7, or the tool's own), made once for each definition. */
export function describeTool(tool: ToolDefinition): ToolSchema {
  const known = schemas.get(tool);
  if (known) return known;
  const input: ToolSchema['input'] = JSON.parse(JSON.stringify(tool.jsonSchema ?? generateSchema(tool)));
  const schema = { name: tool.name, description: tool.description, input };
  schemas.set(tool, schema);
  return schema;
}

function generateSchema(tool: ToolDefinition): object {
  const { $schema: _, ...generated } = z.toJSONSchema(tool.input, { target: 'draft-7', io: 'input' });
  return generated;
}

/**
 * Makes headers for the steps of one session. `build` returns the very object of the step before where nothing
 * changed, so that the loop sees a change by identity and an unchanged step costs a few comparisons.
 */
export function createHeaderBuilder(): { build: (parts: HeaderParts) => BuiltHeader } {
  let last: BuiltHeader | null = null;
  let lastTools: { tools: ResolvedTool[]; schemas: ToolSchema[]; json: string } | null = null;

  const describeTools = (tools: ResolvedTool[]): { schemas: ToolSchema[]; json: string } => {
    const same =
      lastTools?.tools.length === tools.length &&
      tools.every((entry, i) => lastTools?.tools[i]?.tool === entry.tool);
    if (!lastTools || !same) {
      const described = tools.map(({ tool }) => describeTool(tool));
      lastTools = { tools, schemas: described, json: JSON.stringify(described) };
    }
    return lastTools;
  };

  return {
    build(parts) {
      const tools = describeTools(parts.prompt.assembly.tools);
      const fingerprint = fingerprintOf(parts, tools.json);
      if (last?.fingerprint !== fingerprint) {
        last = {
          header: describeRequest(parts, tools.schemas, tools.json),
          system: parts.rendered.text,
          tools: tools.schemas,
          toolsJson: tools.json,
          fingerprint,
        };
      }
      return last;
    },
  };
}

function fingerprintOf({ agent, call, prompt, rendered, skills }: HeaderParts, toolsJson: string): string {
  const used = rendered.used.map((name) => [
    name,
    prompt.assembly.variables[name],
    prompt.variableOwners[name],
  ]);
  return JSON.stringify([agent, call, describeSkills(skills), used, toolsJson, rendered.text]);
}

function describeRequest(
  parts: HeaderParts,
  schemas: readonly ToolSchema[],
  toolsJson: string,
): RequestHeader {
  const { agent, call, prompt, rendered, skills } = parts;
  const owners = new Map(prompt.assembly.tools.map(({ owner, tool }) => [tool.name, owner]));
  return {
    agent,
    provider: call.provider,
    model: call.model,
    system: sized(rendered.text),
    tools: {
      ...sized(toolsJson),
      names: schemas.map((schema) => ({
        name: schema.name,
        owner: owners.get(schema.name) ?? 'unknown',
        tokens: estimateTokens(JSON.stringify(schema)),
      })),
    },
    config: toJsonObject(call.options),
    sections: rendered.sections.map(({ name, owner, order, text }) => ({
      name,
      owner,
      order,
      chars: text.length,
      ...sized(text),
    })),
    variables: rendered.used.map((name) => ({
      name,
      owner: prompt.variableOwners[name] ?? 'unknown',
      value: prompt.assembly.variables[name] ?? '',
    })),
    skills: describeSkills(skills),
  };
}

function describeSkills({ manifest, tenantManifest, fault }: SkillView): RequestHeader['skills'] {
  return {
    manifest,
    ...(tenantManifest === null ? {} : { tenant: tenantManifest }),
    ...(fault ? { fault } : {}),
  };
}

function sized(text: string): { digest: string; tokens: number } {
  return { digest: sha256Hex(text), tokens: estimateTokens(text) };
}

/** Options as plain JSON: absent members go, so that equal options have equal bytes. */
function toJsonObject(options: object): RequestHeader['config'] {
  return z.record(z.string(), z.json()).parse(JSON.parse(JSON.stringify(options)));
}
