/** What differs between two requests' headers, part by part, each with the owner who answers for it. Pure. */
import { z } from 'zod';
import type { RequestHeader } from '../transcript/events.ts';

const side = z.union([z.string(), z.number(), z.null()]);

export const headerChange = z.object({
  part: z.enum(['agent', 'provider', 'model', 'config', 'section', 'variable', 'tool', 'tools', 'skills']),
  /** Of a section, a variable or a tool. */
  name: z.string().nullable(),
  owner: z.string().nullable(),
  kind: z.enum(['added', 'removed', 'changed', 'moved']),
  /** A value, or a digest where the part is a text; null on the side where the part is not. */
  before: side,
  after: side,
});
export type HeaderChange = z.infer<typeof headerChange>;

interface Part {
  name: string;
  owner: string;
  content: string;
  place: number;
}

/** The changes from one header to another, in a fixed order; none where the two say the same. */
export function diffHeaders(before: RequestHeader, after: RequestHeader): HeaderChange[] {
  return [
    ...diffValue('agent', before.agent, after.agent),
    ...diffValue('provider', before.provider, after.provider),
    ...diffValue('model', before.model, after.model),
    ...diffValue('config', JSON.stringify(before.config), JSON.stringify(after.config)),
    ...diffParts('section', toSections(before), toSections(after)),
    ...diffParts('variable', toVariables(before), toVariables(after)),
    ...diffTools(before, after),
    ...diffValue('skills', describeSkills(before), describeSkills(after)),
  ];
}

function toSections(header: RequestHeader): Part[] {
  return header.sections.map(({ name, owner, order, digest }) => ({
    name,
    owner,
    content: digest,
    place: order,
  }));
}

function toVariables(header: RequestHeader): Part[] {
  return header.variables.map(({ name, owner, value }) => ({ name, owner, content: value, place: 0 }));
}

/** The list's digest tells of a change that no name shows: a tool's description or schema. */
function diffTools(before: RequestHeader, after: RequestHeader): HeaderChange[] {
  const toParts = ({ tools }: RequestHeader): Part[] =>
    tools.names.map(({ name, owner, tokens }) => ({ name, owner, content: String(tokens), place: 0 }));
  const changes = diffParts('tool', toParts(before), toParts(after));
  return changes.length > 0 ? changes : diffValue('tools', before.tools.digest, after.tools.digest);
}

/** The release, the tenant's own over it, and why there is none where it could not be read. */
function describeSkills({ skills: { manifest, tenant, fault } }: RequestHeader): string | null {
  if (!tenant && !fault) return manifest;
  const own = tenant ? ` + tenant ${tenant}` : '';
  return `${manifest ?? 'none'}${own}${fault ? ` (${fault.code})` : ''}`;
}

function diffValue(part: HeaderChange['part'], before: string | null, after: string | null): HeaderChange[] {
  return before === after ? [] : [{ part, name: null, owner: null, kind: 'changed', before, after }];
}

function diffParts(
  part: HeaderChange['part'],
  before: readonly Part[],
  after: readonly Part[],
): HeaderChange[] {
  const was = new Map(before.map((entry) => [entry.name, entry]));
  const is = new Map(after.map((entry) => [entry.name, entry]));
  const names = [...new Set([...was.keys(), ...is.keys()])].sort();
  return names.flatMap((name) => diffPart(part, was.get(name), is.get(name)));
}

function diffPart(part: HeaderChange['part'], was: Part | undefined, is: Part | undefined): HeaderChange[] {
  if (!is)
    return was
      ? [{ part, name: was.name, owner: was.owner, kind: 'removed', before: was.content, after: null }]
      : [];
  const { name, owner } = is;
  if (!was) return [{ part, name, owner, kind: 'added', before: null, after: is.content }];
  if (was.content !== is.content || was.owner !== owner) {
    return [{ part, name, owner, kind: 'changed', before: was.content, after: is.content }];
  }
  return was.place === is.place
    ? []
    : [{ part, name, owner, kind: 'moved', before: was.place, after: is.place }];
}
