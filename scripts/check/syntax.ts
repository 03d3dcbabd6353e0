/** Source text as a syntax tree, and a walk over it. */
import { parseSync } from 'vite';

export interface SyntaxNode extends Record<string, unknown> {
  type: string;
  /** UTF-16 offsets into the text. */
  start: number;
  end: number;
}

export interface Source {
  path: string;
  text: string;
  program: SyntaxNode;
  module: ReturnType<typeof parseSync>['module'];
}

/** Throws where the text does not parse. */
export function parseSource(path: string, text: string): Source {
  const { program, module, errors } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  if (!isNode(program)) throw new Error(`${path}: no program`);
  return { path, text, program, module };
}

/** Parents first. `key` is the parent's property that holds the node, or the list with it. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, parent: SyntaxNode | null, key: string) => void,
): void {
  const enter = (value: unknown, parent: SyntaxNode | null, key: string): void => {
    if (Array.isArray(value)) for (const item of value) enter(item, parent, key);
    if (!isNode(value)) return;
    visit(value, parent, key);
    for (const [name, child] of Object.entries(value)) enter(child, value, name);
  };
  enter(node, null, '');
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}

/** From 1. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
