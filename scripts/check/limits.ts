/** Sizes: files of at most 400 lines, functions of at most 60. */
import { lineOf, parseSource, type SyntaxNode, walk } from './syntax.ts';
import type { Violation } from './violation.ts';

export const FILE_LINES = 400;
export const FUNCTION_LINES = 60;

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const CLASSES = new Set(['ClassDeclaration', 'ClassExpression']);

/**
 * A function's lines are those that are left when the functions and classes in it are folded to their first and last
 * line: a factory is not long because of what it returns.
 */
export function checkLimits(path: string, text: string): Violation[] {
  const violations: Violation[] = [];
  const lines = text.replace(/\n$/, '').split('\n').length;
  if (lines > FILE_LINES) {
    violations.push({ path, line: 1, message: `the file has ${lines} lines; ${FILE_LINES} are allowed` });
  }
  for (const { isFunction, first, own } of measureExtents(path, text)) {
    if (!isFunction || own <= FUNCTION_LINES) continue;
    const message = `the function has ${own} lines of its own; ${FUNCTION_LINES} are allowed`;
    violations.push({ path, line: first, message });
  }
  return violations;
}

interface Extent {
  isFunction: boolean;
  first: number;
  last: number;
  own: number;
}

/** In the order of their beginnings. */
function measureExtents(path: string, text: string): Extent[] {
  const found: SyntaxNode[] = [];
  walk(parseSource(path, text).program, (node) => {
    if (FUNCTIONS.has(node.type) || CLASSES.has(node.type)) found.push(node);
  });
  const measured: Extent[] = [];
  const open: Extent[] = [];
  for (const node of found) {
    const first = lineOf(text, node.start);
    const last = lineOf(text, node.end);
    while (open.length > 0 && (open.at(-1)?.last ?? 0) < last) open.pop();
    const extent = { isFunction: FUNCTIONS.has(node.type), first, last, own: last - first + 1 };
    const around = open.at(-1);
    if (around !== undefined) around.own -= Math.max(last - first - 1, 0);
    measured.push(extent);
    open.push(extent);
  }
  return measured;
}
