/**
 * Finds `/name` tokens that a person typed: `(^|\s)/name(?=\s|$)` with the skill name grammar (DESIGN section 6,
 * *Gesture*). Scanned by hand: one pass, no backtracking, so hostile text costs no more than its length.
 */
import type { UserMessage } from '../transcript/events.ts';

/** The Agent Skills specification's limit. */
const MAX_NAME_LENGTH = 64;
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
/** The rule in words, for messages. */
export const NAME_RULE = `lower-case ASCII letters and digits, with single hyphens between them, at most ${MAX_NAME_LENGTH}`;

export function isSkillName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && NAME.test(text);
}

const HYPHEN = 0x2d;

/** The names of a text's gestures, in first-seen order, each once. Whether a skill has the name is not its question. */
export function scanGestures(text: string): string[] {
  const names = new Set<string>();
  let at = text.indexOf('/');
  while (at !== -1) {
    const end = scanName(text, at + 1);
    const length = end - at - 1;
    const opens = at === 0 || isSpace(text.charCodeAt(at - 1));
    const closes = end === text.length || isSpace(text.charCodeAt(end));
    if (opens && closes && length > 0 && length <= MAX_NAME_LENGTH) names.add(text.slice(at + 1, end));
    at = text.indexOf('/', end);
  }
  return [...names];
}

/** The gestures of what people said: the text blocks of messages whose source is `user`, and nothing else. */
export function findGestures(messages: readonly UserMessage[]): string[] {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.source.kind !== 'user') continue;
    for (const block of message.content) {
      if (block.type !== 'text') continue;
      for (const name of scanGestures(block.text)) names.add(name);
    }
  }
  return [...names];
}

/** The end of the longest name that starts at `from`; `from` itself where there is none. */
function scanName(text: string, from: number): number {
  let at = from;
  let end = from;
  while (isAlphanumeric(text.charCodeAt(at))) {
    do at++;
    while (isAlphanumeric(text.charCodeAt(at)));
    end = at;
    if (text.charCodeAt(at) === HYPHEN) at++;
  }
  return end;
}

function isAlphanumeric(unit: number): boolean {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

/** `\s` of ECMAScript: WhiteSpace and LineTerminator, which include U+3000 and the BOM. */
function isSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}
