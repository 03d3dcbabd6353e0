/**
 * The strict renderer: the only path to the system text. One pass, pure, linear. A complete `{{name}}` is replaced
 * and its value is not scanned again; whatever looks like a reference and is none fails loudly, naming the section.
 */
import {
  promptMalformedReference,
  promptUnbalancedReference,
  promptUnknownVariable,
  promptVariableWithoutValue,
} from '../errors.ts';
import type { Assembly, RenderedPrompt, RenderedSection, ResolvedSection } from './types.ts';

const NAME = /^[a-z][a-z0-9_]*$/;
const QUOTED_CHARS = 60;

/** Renders an assembly: sections in order, empty ones dropped, joined by a blank line. Throws the errors above. */
export function render(assembly: Pick<Assembly, 'sections' | 'variables'>): RenderedPrompt {
  const used = new Set<string>();
  const sections: RenderedSection[] = [];
  for (const section of [...assembly.sections].sort(compareSections)) {
    const text = section.verbatim ? section.text : renderSection(section, assembly.variables, used);
    const { name, owner, order } = section;
    if (text !== '') sections.push({ name, owner, order, text });
  }
  return { text: sections.map((section) => section.text).join('\n\n'), sections, used: [...used].sort() };
}

/** By order, then by name in code units: never by registration. */
export function compareSections(
  a: { order: number; name: string },
  b: { order: number; name: string },
): number {
  return a.order - b.order || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

function renderSection(
  section: ResolvedSection,
  variables: Assembly['variables'],
  used: Set<string>,
): string {
  const { text } = section;
  let out = '';
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2);
    if (close < 0) return out + text.slice(at); // a lone {{ that no }} follows is prose
    out += text.slice(at, open) + resolve(section, text.slice(open + 2, close), variables, used);
    at = close + 2;
  }
}

/** The value of one reference. Own properties only: `constructor` is no variable of ours. */
function resolve(
  section: ResolvedSection,
  name: string,
  variables: Assembly['variables'],
  used: Set<string>,
): string {
  if (NAME.test(name) && Object.hasOwn(variables, name)) {
    const value = variables[name];
    if (value === undefined)
      throw refuse(promptVariableWithoutValue, section, name, variables, 'has no value here');
    used.add(name);
    return value;
  }
  if (name.includes('{')) {
    throw refuse(promptUnbalancedReference, section, name, variables, 'follows a {{ that is not balanced');
  }
  if (!NAME.test(name)) {
    throw refuse(
      promptMalformedReference,
      section,
      name,
      variables,
      'is no reference: {{name}} in [a-z][a-z0-9_]*',
    );
  }
  throw refuse(promptUnknownVariable, section, name, variables, 'is a variable that nobody provides');
}

function refuse(
  error: typeof promptUnknownVariable,
  section: ResolvedSection,
  name: string,
  variables: Assembly['variables'],
  why: string,
) {
  const known = Object.keys(variables).sort();
  const shown = `{{${name.length > QUOTED_CHARS ? `${name.slice(0, QUOTED_CHARS)}…` : name}}}`;
  return error(
    `In the section ${section.name} (${section.owner}), ${shown} ${why}. Known variables: ${known.join(', ') || 'none'}. ` +
      'A section with literal braces is marked verbatim.',
    { section: section.name, owner: section.owner, known },
  );
}
