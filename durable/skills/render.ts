/**
 * A skill as the model reads it. A typed `/name` and the `skill` tool both give this text, byte for byte (DESIGN
 * section 6, *Injection*). The body is concatenated: no templating, no replacement patterns, nothing executed.
 */
import { compareCodeUnits } from './canonical.ts';
import type { SkillEntry } from './types.ts';

const TAG = 'skill_content';
const CLOSING_TAG = new RegExp(`</\\s*${TAG}\\s*>`, 'i');

/** `body` is the entry's, as bundled. Resources are named by path, sorted by code unit. */
export function renderSkillContent(entry: Pick<SkillEntry, 'name' | 'resources'>, body: string): string {
  const paths = entry.resources.map((resource) => resource.path).sort(compareCodeUnits);
  const files =
    paths.length === 0 ? '' : `Files of this skill, relative to its folder: ${paths.join(', ')}\n\n`;
  const end = body === '' || body.endsWith('\n') ? '' : '\n';
  return `<${TAG} name="${entry.name}">\n${files}${body}${end}</${TAG}>`;
}

/** Where the body would end its own block: the index of the first closing tag, however written, or −1. */
export function findClosingTag(body: string): number {
  return body.search(CLOSING_TAG);
}
