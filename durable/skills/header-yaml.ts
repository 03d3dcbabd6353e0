/** A SKILL.md header as YAML 1.2 in which every scalar is text, with the line of each thing that is wrong with it. */

import type { Document, Node, YAMLError } from 'yaml';
import { isAlias, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { Diagnostic } from './diagnostics.ts';
import { repairHeader } from './header-repair.ts';

/** The header starts on the file's second line, after the fence. */
export const HEADER_LINE = 2;

/** A header that is YAML, or was made so. */
export interface Reading extends Parsed {
  file: string;
  /** As the author wrote it, or as it was repaired. */
  header: string;
  /** The specification's fields and limits, and no repairs. */
  strict: boolean;
  /** Grows while the header is read. */
  diagnostics: Diagnostic[];
}

/** Warnings that are errors to the specification. */
const BEYOND_SPECIFICATION = new Set([
  'compatibility_too_long',
  'description_over_specification',
  'field_not_text',
  'field_unknown',
  'metadata_not_map',
  'yaml_tag',
]);

/** What is being read, and where what there is to say about it goes. */
type Start = Pick<Reading, 'file' | 'strict' | 'diagnostics'>;

/** Null, with the reason in `diagnostics`, where the header is not YAML and cannot (strict: must not) be mended. */
export function readYaml(source: string, start: Start): Reading | null {
  const { file, diagnostics } = start;
  const header = source.replaceAll('\r\n', '\n');
  const fail = (line: number, code: string, message: string): null => {
    diagnostics.push({ file, line: HEADER_LINE - 1 + line, severity: 'error', code, message });
    return null;
  };
  const ended = header.split('\n').findIndex((line) => /^\.\.\.(\s|$)/.test(line));
  if (ended !== -1) return fail(ended + 1, 'yaml_invalid', 'A `...` line ends the header before its fence.');
  const asWritten = parseYaml(header);
  const [fault] = asWritten.document.errors;
  if (fault === undefined) return { ...start, header, ...asWritten };
  const failAt = ({ lines }: Parsed, code: string, error: YAMLError): null =>
    fail(lines.linePos(error.pos[0]).line, code, `The header is not valid: ${readReason(error)}.`);
  // Which of two values was meant is not for a repair to choose.
  const duplicate = findDuplicate(asWritten);
  if (duplicate !== undefined) return failAt(asWritten, 'duplicate_key', duplicate);
  const repair = start.strict ? null : repairHeader(header);
  if (repair === null) return failAt(asWritten, 'yaml_invalid', fault);
  const mended = parseYaml(repair.header);
  const second = findDuplicate(mended);
  if (second !== undefined) return failAt(mended, 'duplicate_key', second);
  if (mended.document.errors.length > 0) return failAt(asWritten, 'yaml_invalid', fault);
  for (const { key, line } of repair.repaired) {
    const message = `The value of \`${key}\` is not YAML; it was read as plain text. Put it in quotes.`;
    diagnostics.push({
      file,
      line: HEADER_LINE - 1 + line,
      severity: 'warning',
      code: 'header_repaired',
      message,
    });
  }
  return { ...start, header: repair.header, ...mended };
}

interface Parsed {
  document: Document.Parsed;
  lines: LineCounter;
}

function parseYaml(header: string): Parsed {
  const lines = new LineCounter();
  // The failsafe schema keeps `007`, `null` and `yes` as the text that was written.
  const document = parseDocument(header, {
    schema: 'failsafe',
    version: '1.2',
    stringKeys: true,
    lineCounter: lines,
    logLevel: 'silent',
  });
  return { document, lines };
}

function findDuplicate({ document }: Parsed): YAMLError | undefined {
  return document.errors.find((error) => error.code === 'DUPLICATE_KEY');
}

/** The parser's sentence without its position and excerpt. */
export function readReason(error: YAMLError): string {
  return error.message.split(/ at line \d/, 1)[0] ?? error.message;
}

/** Adds a diagnostic at an offset of the header. */
export function report(
  { file, lines, strict, diagnostics }: Reading,
  wanted: Diagnostic['severity'],
  offset: number,
  code: string,
  message: string,
): void {
  const severity = strict && BEYOND_SPECIFICATION.has(code) ? 'error' : wanted;
  diagnostics.push({ file, line: HEADER_LINE - 1 + lines.linePos(offset).line, severity, code, message });
}

/** A value's node, through its alias where it is one. */
export function resolveNode(reading: Reading, value: unknown): Node | null {
  if (!isAlias(value)) return isNode(value) ? value : null;
  const target = value.resolve(reading.document);
  if (target !== undefined) return target;
  const message = `\`*${value.source}\` refers to nothing; a value that begins with \`*\` needs quotes.`;
  report(reading, 'error', value.range?.[0] ?? 0, 'yaml_invalid', message);
  return null;
}

export function readScalar(node: Node | null | undefined): string | null {
  return isScalar(node) && typeof node.value === 'string' ? node.value : null;
}

/** A list's or a map's value; undefined where it refers to other parts of the header. */
export function readValue(reading: Reading, node: Node): unknown {
  try {
    return node.toJS(reading.document, { maxAliasCount: 0 });
  } catch {
    // The library throws on an alias: expanding those is how a small header becomes a huge value.
    return undefined;
  }
}
