/**
 * The rule that keeps the core pure: no clock, randomness, storage or network in it, and no import of what is not
 * pure. What a core function needs of the world it gets as an argument.
 */
import { posix } from 'node:path';
import { isNode, lineOf, parseSource, type Source, type SyntaxNode, walk } from './syntax.ts';
import type { Violation } from './violation.ts';

/** The core, as patterns of paths: `*` is any name, `{a,b}` a choice. Each must match a file. */
export const CORE: readonly string[] = [
  'durable/errors.ts',
  // Prompt: what is registered and resolved, and the only way to the system text.
  'durable/prompt/{assemble,builtin,diff,registry,render,tokens,types,view-shape}.ts',
  'durable/context/{lanes,types}.ts',
  // Skills: the format, the gesture, and every text that a model reads of them.
  'durable/skills/{folder,canonical,catalog,diagnostics,gesture,invocable,limits,manifest,parse,render}.ts',
  'durable/skills/header-*.ts',
  // The log's words, and what is derived from a log.
  'durable/transcript/{events,repair,request-digest,surface-fold,turn-state}.ts',
  'durable/audit/*.ts',
  // Requests and answers of models, without the wire.
  'durable/models/{classify,collect,content,offline-reply,recording,to-call,types}.ts',
  // Tools: whether a call can run, what may be fetched, what is matched.
  'durable/tools/{check,describe-failure}.ts',
  'durable/tools/web/{address,networks,media-type,decode-text}.ts',
  'durable/tools/mcp/{names,schema,config}.ts',
  'durable/workspace/{paths,glob}.ts',
  // SHA-256 of a value: the one use of a crypto module.
  'durable/storage/digest.ts',
  // Streams: places in them, what a socket's client says, how far it is behind.
  'durable/stream-cursor.ts',
  'durable/subscribers/{flow,requests}.ts',
  // The edge: what is read from and written to HTTP.
  'worker/http/{json-depth,prefer,problem,scrub}.ts',
  'worker/stream/{frames,sse,turn}.ts',
];

/** Packages that compute and do nothing else. */
const PURE_MODULES = new Set(['@ai-sdk/provider', 'node:buffer', 'yaml', 'zod']);
const EXCEPTIONS = new Map([['durable/storage/digest.ts', 'node:crypto']]);

const IMPURE_GLOBALS = new Set([
  'Date',
  'WebSocket',
  'WebSocketPair',
  'caches',
  'console',
  'crypto',
  'fetch',
  'globalThis',
  'navigator',
  'performance',
  'process',
  'queueMicrotask',
  'scheduler',
  'self',
  'setImmediate',
  'setInterval',
  'setTimeout',
]);
/** Of `Date`: functions of their arguments alone. */
const PURE_DATE = new Set(['UTC', 'parse']);

/** Tells core paths. */
export function createCoreMatcher(patterns: readonly string[] = CORE): (path: string) => boolean {
  const tests = patterns.map(toRegExp);
  return (path) => tests.some((test) => test.test(path));
}

/** Patterns that match none of the paths: the list has to follow the tree. */
export function findStalePatterns(paths: readonly string[], patterns: readonly string[] = CORE): string[] {
  return patterns.filter((pattern) => !paths.some((path) => toRegExp(pattern).test(path)));
}

function toRegExp(pattern: string): RegExp {
  const source = pattern
    .replace(/[.]/g, '\\.')
    .replace(/\*/g, '[^/]*')
    .replace(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`);
  return new RegExp(`^${source}$`);
}

/** `path` is relative to the root, `/` between parts. */
export function checkPurity(path: string, text: string, isCore: (path: string) => boolean): Violation[] {
  const source = parseSource(path, text);
  return [...checkImports(source, isCore), ...checkGlobals(source)];
}

function checkImports({ path, text, module }: Source, isCore: (path: string) => boolean): Violation[] {
  const requests = [
    ...module.staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports
      .flatMap(({ entries }) => entries.filter(({ isType }) => !isType))
      .flatMap(({ moduleRequest }) => moduleRequest ?? []),
  ];
  const violations = requests.flatMap(({ value, start }) => {
    if (isPureImport(path, value, isCore)) return [];
    return [{ path, line: lineOf(text, start), message: `the core imports ${value}, which is not of it` }];
  });
  for (const { start } of module.dynamicImports) {
    violations.push({ path, line: lineOf(text, start), message: 'the core loads nothing while it runs' });
  }
  return violations;
}

function isPureImport(path: string, request: string, isCore: (path: string) => boolean): boolean {
  if (request.startsWith('.')) return isCore(posix.join(posix.dirname(path), request));
  return PURE_MODULES.has(request) || EXCEPTIONS.get(path) === request;
}

function checkGlobals({ path, text, program }: Source): Violation[] {
  const declared = collectDeclared(program);
  const violations: Violation[] = [];
  const report = (node: SyntaxNode, what: string): void => {
    violations.push({ path, line: lineOf(text, node.start), message: `the core does not touch ${what}` });
  };
  walk(program, (node, parent, key) => {
    if (node.type === 'MemberExpression' && memberOf(node, 'Math') === 'random') report(node, 'Math.random');
    const name = readName(node);
    if (name === null || !IMPURE_GLOBALS.has(name) || declared.has(name)) return;
    if (!isReference(parent, key)) return;
    if (name === 'Date' && parent !== null && PURE_DATE.has(memberOf(parent, 'Date') ?? '')) return;
    report(node, name);
  });
  return violations;
}

function readName(node: unknown): string | null {
  return isNode(node) && node.type === 'Identifier' && typeof node['name'] === 'string' ? node['name'] : null;
}

/** The member's name where the expression is a member of `object`. */
function memberOf(node: SyntaxNode, object: string): string | null {
  if (node.type !== 'MemberExpression' || readName(node['object']) !== object) return null;
  const { property } = node;
  if (isNode(property) && typeof property['value'] === 'string') return property['value'];
  return readName(property);
}

/** Whether an identifier there stands for a value: not a property's name, and not a type. */
function isReference(parent: SyntaxNode | null, key: string): boolean {
  if (parent === null) return false;
  if (key === 'key' || (key === 'property' && parent.type === 'MemberExpression')) {
    return parent['computed'] === true;
  }
  // `x as T` and its like are the only TypeScript nodes with a value in them.
  return !parent.type.startsWith('TS') || key === 'expression';
}

/** Names that the file itself declares, in any scope: imports, variables, parameters, functions, classes. */
function collectDeclared(program: SyntaxNode): Set<string> {
  const names = new Set<string>();
  const addPattern = (pattern: unknown): void => {
    if (Array.isArray(pattern)) for (const item of pattern) addPattern(item);
    if (!isNode(pattern)) return;
    const name = readName(pattern);
    if (name !== null) names.add(name);
    addPattern(pattern['elements']);
    addPattern(pattern['properties']);
    addPattern(pattern['argument']);
    if (pattern.type === 'Property') addPattern(pattern['value']);
    if (pattern.type === 'AssignmentPattern') addPattern(pattern['left']);
  };
  walk(program, (node) => {
    if (node.type.startsWith('TS')) return;
    addPattern(node['params']);
    addPattern(node['local']);
    if (/^(?:VariableDeclarator|Function|Class)/.test(node.type)) addPattern(node['id']);
    if (node.type === 'CatchClause') addPattern(node['param']);
  });
  return names;
}
