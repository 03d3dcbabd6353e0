/** What a model was told in two runs: the parts of its prompt and what was injected, with their owners. Pure. */
import { storedToolSchemas } from '../../durable/models/types.ts';
import { diffHeaders, type HeaderChange } from '../../durable/prompt/diff.ts';
import type { MessageSource, RequestHeader, UserMessage } from '../../durable/transcript/index.ts';
import { showContent } from './outline.ts';
import { compareText, type TextChange } from './text-change.ts';

/** The text of this digest; empty where it is not kept. */
export type Texts = (digest: string) => string;

export interface Told {
  header: RequestHeader;
  readText: Texts;
}

export interface PartChange {
  owner: string | null;
  what: string;
  text: TextChange | null;
}

/** `notes` are changes that the model is not told of. */
export function compareTold(was: Told, is: Told): { parts: PartChange[]; notes: string[] } {
  const changes = diffHeaders(was.header, is.header);
  const parts = changes.flatMap((change) => describeChange(change, was, is));
  return {
    parts: [...parts, ...compareTools(was, is)],
    notes: changes
      .filter(({ part }) => part === 'skills')
      .map(
        ({ before, after }) => `another release of the skills: ${short(before)} then, ${short(after)} now`,
      ),
  };
}

function short(digest: HeaderChange['before']): string {
  return digest === null ? 'none' : String(digest).slice(0, 12);
}

function describeChange(change: HeaderChange, was: Told, is: Told): PartChange[] {
  const { part, name, owner, kind, before, after } = change;
  switch (part) {
    case 'skills':
    case 'tool':
    case 'tools':
      // Skills are no part of what is told; tools are compared by what is told of them.
      return [];
    case 'section': {
      const text = compareText(sectionText(was, name), sectionText(is, name));
      return [{ owner, what: `the section ${name} is ${sayKind(kind)}`, text }];
    }
    case 'variable':
      // What it says stands in a section, which differs as well: this says why.
      return [
        {
          owner,
          what: `the variable ${name} is ${sayKind(kind)}`,
          text: compareText(show(before), show(after)),
        },
      ];
    default:
      return [{ owner, what: `the ${part} is another one`, text: compareText(show(before), show(after)) }];
  }
}

function show(value: HeaderChange['before']): string {
  return value === null ? 'none' : String(value);
}

function sayKind(kind: HeaderChange['kind']): string {
  switch (kind) {
    case 'added':
      return 'new';
    case 'removed':
      return 'gone';
    case 'moved':
      return 'in another place';
    default:
      return 'another one';
  }
}

/** Sections stand in the header's order, a blank line apart. */
function sectionText({ header, readText }: Told, wanted: string | null): string {
  const system = readText(header.system.digest);
  let start = 0;
  for (const { name, chars } of header.sections) {
    if (name === wanted) return system.slice(start, start + chars);
    start += chars + '\n\n'.length;
  }
  return '';
}

function compareTools(was: Told, is: Told): PartChange[] {
  if (was.header.tools.digest === is.header.tools.digest) return [];
  const [before, after] = [readTools(was), readTools(is)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const changes = names.flatMap((name): PartChange[] => {
    const [a, b] = [before.get(name), after.get(name)];
    const owner = b?.owner ?? a?.owner ?? null;
    if (!a) return [{ owner, what: `the tool ${name} is new`, text: null }];
    if (!b) return [{ owner, what: `the tool ${name} is gone`, text: null }];
    const text = compareText(a.told, b.told);
    return text ? [{ owner, what: `the tool ${name} is described otherwise`, text }] : [];
  });
  return changes.length > 0 ? changes : [{ owner: null, what: 'the tools are in another order', text: null }];
}

function readTools({ header, readText }: Told): Map<string, { owner: string; told: string }> {
  const text = readText(header.tools.digest);
  const schemas = text === '' ? [] : storedToolSchemas.parse(JSON.parse(text));
  return new Map(
    header.tools.names.map(({ name, owner }) => {
      const schema = schemas.find((tool) => tool.name === name);
      const told = schema ? `${schema.description}\n${JSON.stringify(schema.input, null, 1)}` : '';
      return [name, { owner, told }];
    }),
  );
}

/** Injections by whose they are, in order; what people said is compared by its ids. */
export function compareInjections(was: readonly UserMessage[], is: readonly UserMessage[]): PartChange[] {
  const [before, after] = [listInjections(was), listInjections(is)];
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys.flatMap((key): PartChange[] => {
    const [a, b] = [before.get(key), after.get(key)];
    const { owner, label } = b ?? a ?? { owner: null, label: key };
    if (!a) return [{ owner, what: `${label} is injected now`, text: compareText('', b?.text ?? '') }];
    if (!b) return [{ owner, what: `${label} is not injected any more`, text: compareText(a.text, '') }];
    const text = compareText(a.text, b.text);
    return text ? [{ owner, what: `${label} is another one`, text }] : [];
  });
}

interface Injection {
  owner: string;
  label: string;
  text: string;
}

function listInjections(messages: readonly UserMessage[]): Map<string, Injection> {
  const found = new Map<string, Injection>();
  for (const { source, content } of messages) {
    const who = nameInjection(source);
    if (!who) continue;
    let key = who.label;
    while (found.has(key)) key += ' again';
    found.set(key, { ...who, text: showContent(content) });
  }
  return found;
}

/** Null for what somebody said. */
function nameInjection(source: MessageSource): { owner: string; label: string } | null {
  switch (source.kind) {
    case 'user':
    case 'bot':
    case 'webhook':
    case 'delegation':
      return null;
    case 'skill-invocation':
      return { owner: `skill ${source.name}`, label: `the text of the skill ${source.name}` };
    case 'skill-catalog':
      return { owner: 'skills', label: 'the catalog of skills' };
    case 'runtime-context':
      return { owner: 'runtime-context', label: 'the runtime context' };
    default:
      return { owner: source.name, label: `the ${source.kind} of ${source.name}` };
  }
}
