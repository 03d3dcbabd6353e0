/**
 * The one parser of SKILL.md (the Agent Skills specification, and DESIGN section 6). It serves the bundler and
 * whatever else reads the format, so that no two readers can disagree. The worker reads manifests, not files, and
 * never loads this: that keeps YAML out of the worker.
 */
import type { Diagnostic } from './diagnostics.ts';
import { readHeader, type SkillHeader } from './header-fields.ts';
import { HEADER_LINE, readYaml } from './header-yaml.ts';
import { findClosingTag } from './render.ts';

export type ParsedSkill =
  | { kind: 'skill'; skill: SkillHeader; body: string; warnings: Diagnostic[] }
  | { kind: 'rejected'; diagnostics: Diagnostic[] };

/**
 * `strict`: the Agent Skills specification's fields and limits alone. `extended`: the two policy fields as well, repairs
 * and longer descriptions with warnings; it is what Perch publishes.
 */
export type ParseMode = 'strict' | 'extended';

/**
 * Parses one SKILL.md. `text` is the decoded file, `file` is what diagnostics name, `folder` is the skill's folder,
 * which its name must equal. The body is what follows the closing fence's line, unchanged. Does not throw.
 */
export function parseSkill(
  text: string,
  { file, folder, mode = 'extended' }: { file: string; folder: string; mode?: ParseMode },
): ParsedSkill {
  const fenced = splitFences(text);
  if (fenced.kind === 'unfenced') {
    const { code, message } = fenced;
    return { kind: 'rejected', diagnostics: [{ file, line: 1, severity: 'error', code, message }] };
  }
  const diagnostics: Diagnostic[] = [];
  const reading = readYaml(fenced.header, { file, strict: mode === 'strict', diagnostics });
  const skill = reading === null ? null : readHeader(reading, folder);
  diagnostics.push(...checkBody(file, fenced.body, fenced.bodyLine));
  if (skill === null || diagnostics.some((diagnostic) => diagnostic.severity === 'error')) {
    return { kind: 'rejected', diagnostics };
  }
  return { kind: 'skill', skill, body: fenced.body, warnings: diagnostics };
}

type Fenced =
  | { kind: 'fenced'; header: string; body: string; bodyLine: number }
  | { kind: 'unfenced'; code: string; message: string };

const FENCE = /^---[ \t]*\r?$/;

/** A fence is a line that is `---` and nothing else but trailing white space. A BOM before the first is accepted. */
function splitFences(text: string): Fenced {
  const opening = readLine(text, text.charCodeAt(0) === 0xfeff ? 1 : 0);
  if (!FENCE.test(opening.line)) {
    const message = 'The file must begin with a header: its first line must be `---`.';
    return { kind: 'unfenced', code: 'header_missing', message };
  }
  let at = opening.next;
  for (let number = HEADER_LINE; at < text.length; number++) {
    const { line, next } = readLine(text, at);
    if (FENCE.test(line)) {
      return {
        kind: 'fenced',
        header: text.slice(opening.next, at),
        body: text.slice(next),
        bodyLine: number + 1,
      };
    }
    at = next;
  }
  const message = 'The header is not closed: a line that is exactly `---` must follow its fields.';
  return { kind: 'unfenced', code: 'header_unclosed', message };
}

function readLine(text: string, from: number): { line: string; next: number } {
  const end = text.indexOf('\n', from);
  return end === -1
    ? { line: text.slice(from), next: text.length }
    : { line: text.slice(from, end), next: end + 1 };
}

function checkBody(file: string, body: string, bodyLine: number): Diagnostic[] {
  const found: Diagnostic[] = [];
  const closing = findClosingTag(body);
  if (closing !== -1) {
    const line = bodyLine + body.slice(0, closing).split('\n').length - 1;
    const message = 'The body holds the closing tag of the block in which the model is given it.';
    found.push({ file, line, severity: 'error', code: 'closing_tag_in_body', message });
  }
  if (body.trim() === '') {
    const message = 'The body is empty: the skill instructs nothing.';
    found.push({ file, line: bodyLine, severity: 'warning', code: 'body_empty', message });
  }
  return found;
}
