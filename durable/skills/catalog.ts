/** The catalog: what the model is told of the skills that it may load (DESIGN section 6, *Catalog*). */
import { sha256Hex } from '../storage/digest.ts';
import { compareCodeUnits, encodeCanonical } from './canonical.ts';
import { listModelInvocable } from './invocable.ts';
import type { SkillEntry } from './types.ts';

export interface Catalog {
  /** Over names and descriptions as the model reads them. */
  digest: string;
  /** Sorted by code unit. */
  names: string[];
  text: string;
}

/** Code points of a description that the catalog shows; the skill itself has it all. */
const SHOWN_LENGTH = 500;
const TAG = 'available_skills';
const LAST = `A <skill_content> block that the user invoked is in the conversation already: follow it, do not load it again.`;

/** Null where nothing is model-invocable. The order of `entries` does not matter. */
export function buildCatalog(entries: readonly SkillEntry[]): Catalog | null {
  const items = listModelInvocable(entries)
    .map(({ name, description }) => ({ name, shown: showDescription(description) }))
    .sort((a, b) => compareCodeUnits(a.name, b.name));
  if (items.length === 0) return null;
  const lines = items.map(({ name, shown }) => `- ${name}: ${shown}`);
  return {
    digest: digestItems(items),
    names: items.map(({ name }) => name),
    text: `Skills that you can load with the \`skill\` tool:\n<${TAG}>\n${lines.join('\n')}\n</${TAG}>\n${LAST}`,
  };
}

/** What replaces a published catalog when nothing is model-invocable any more. */
export const EMPTY_CATALOG: Catalog = {
  digest: digestItems([]),
  names: [],
  text: `There are no skills to load any more.\n<${TAG}>\n</${TAG}>\n${LAST}`,
};

function digestItems(items: readonly { name: string; shown: string }[]): string {
  return sha256Hex(encodeCanonical(items.map(({ name, shown }) => [name, shown])));
}

/** One line, cut, then escaped: a description is a stranger's text and must not end or forge a block. */
function showDescription(description: string): string {
  return cutText(foldText(description)).replace(/[&<>]/g, (character) => ESCAPES[character] ?? '');
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** White space and control characters, which could start a line, become one space. */
function foldText(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Cuts where a user-perceived character ends, so that no emoji or accent is taken apart. */
function cutText(text: string): string {
  // A code point is one or two units, so a short text needs no counting.
  if (text.length <= SHOWN_LENGTH) return text;
  const points = [...text];
  if (points.length <= SHOWN_LENGTH) return text;
  const limit = points.slice(0, SHOWN_LENGTH).join('').length;
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    if (index + segment.length > limit) break;
    end = index + segment.length;
  }
  // One character longer than the limit (stacked marks) is cut between code points.
  return `${text.slice(0, end === 0 ? limit : end).trimEnd()}…`;
}
