/** HTML to markdown: the library's work, with what a page on the web needs in addition. Loaded on use: it is large. */
import {
  ELEMENT_NODE,
  type ElementNode,
  htmlToMarkdown,
  type Node,
  NodeEventEnter,
  TEXT_NODE,
  type TextNode,
  type TransformPlugin,
} from '@mdream/js';
import { fetchTooLarge } from '../../errors.ts';
import { parseUrl } from './address.ts';

export interface MarkdownPage {
  /** Of `<title>`, one line; empty where there is none. */
  title: string;
  markdown: string;
  /** Whether parts of the page were left out as not its content. */
  partial: boolean;
}

/** What is no content for a reader anywhere on a page. */
const CONTROLS = [
  'nav',
  'svg',
  'iframe',
  'template',
  'button',
  'input',
  'select',
  'textarea',
  'canvas',
  'object',
  'embed',
];
/** What is around the content where the page does not say which part is its main one. */
const SURROUNDINGS = [...CONTROLS, 'footer', 'aside'];
const MAIN = ['main', '[role=main]'];

/**
 * Elements of one name inside each other. More is not what people write, and each level costs every line below it a
 * prefix (a level of `code` even doubles its fence): without a limit a small page unpacks to a huge text. What is deeper
 * is read as if its tags were not there.
 */
const NESTING: ReadonlyMap<string, number> = new Map([
  ...['blockquote', 'ul', 'ol', 'dl', 'table'].map((name) => [name, 12] as const),
  ...['a', 'b', 'code', 'del', 'em', 'i', 'kbd', 'pre', 's', 'samp', 'strong'].map(
    (name) => [name, 1] as const,
  ),
]);
/** Characters that a line below these gets before it, at most. */
const PREFIXES: ReadonlyMap<string, number> = new Map([
  ['blockquote', 2],
  ['ul', 2],
  ['ol', 4],
]);
/** Parts of a table mean nothing outside of one, and HTML ignores them there. */
const TABLE_PARTS = new Set(['thead', 'tbody', 'tfoot', 'tr', 'th', 'td']);

/**
 * The page's main part, or all of it where `whole` says so; links are absolute. Throws `fetch_too_large` for a page
 * whose text is longer than `limit` characters, as far as that can be told beforehand.
 */
export function renderMarkdown(
  html: string,
  options: { url: URL; whole: boolean; limit: number },
): MarkdownPage {
  const { whole } = options;
  const main = !whole && /<main[\s>]|\brole\s*=\s*["']?main\b/i.test(html);
  const attempts = whole
    ? [undefined]
    : [...(main ? [{ include: MAIN, exclude: CONTROLS }] : []), { exclude: SURROUNDINGS }, undefined];
  for (const filter of attempts) {
    const page = convert(html, filter, options);
    // The mark of a main part may be in a script, or the page may have nothing but surroundings.
    if (page.markdown !== '' || filter === undefined) return { ...page, partial: filter !== undefined };
  }
  return { title: '', markdown: '', partial: false };
}

type Filter = { include?: string[]; exclude: string[] } | undefined;

function convert(
  html: string,
  filter: Filter,
  { url, limit }: { url: URL; limit: number },
): { title: string; markdown: string } {
  const reader = createReader(url, limit);
  const markdown = htmlToMarkdown(html, {
    ...(filter === undefined ? {} : { plugins: { filter } }),
    hooks: [reader.hooks],
  });
  return { title: reader.title(), markdown: markdown.trim() };
}

/** Hooks see a node when it begins and when it ends, in the document's order. */
function createReader(url: URL, limit: number): { hooks: TransformPlugin; title: () => string } {
  let title: string | null = null;
  let base = url;
  let left = limit;
  const open = new Map<string, number>();
  const ignored = new WeakSet<Node>();
  const hooks: TransformPlugin = {
    beforeNodeProcess({ type, node }, state) {
      // The library sets it where a table begins, and relies on it where a cell stands outside of every table.
      state.tableColumnAlignments ??= [];
      if (isText(node)) left -= estimateLength(node.value, open);
      else if (isElement(node)) {
        const isBegin = type === NodeEventEnter;
        const depth = (open.get(node.name) ?? 0) + (isBegin ? 1 : -1);
        open.set(node.name, depth);
        if (isBegin && (isOutOfPlace(node.name, depth, open) || isInlineImage(node))) ignored.add(node);
      }
      if (left < 0)
        throw fetchTooLarge(`The text of the page is longer than ${limit} characters.`, { limit });
      return ignored.has(node) ? { skip: true } : undefined;
    },
    processAttributes({ name, attributes }) {
      if (name === 'base' && base === url) base = toAbsolute(attributes['href'], url) ?? url;
      for (const key of ['href', 'src']) {
        if (attributes[key] === undefined) continue;
        const absolute = toAbsolute(attributes[key], base);
        if (absolute === null) delete attributes[key];
        else attributes[key] = absolute.href;
      }
    },
    processTextNode({ value, parent }) {
      if (parent?.name !== 'title') return undefined;
      title ??= value.replace(/\s+/g, ' ').trim();
      return { content: '', skip: true };
    },
  };
  return { hooks, title: () => title ?? '' };
}

function isText(node: Node): node is TextNode {
  return node.type === TEXT_NODE;
}

function isElement(node: Node): node is ElementNode {
  return node.type === ELEMENT_NODE;
}

function isOutOfPlace(name: string, depth: number, open: ReadonlyMap<string, number>): boolean {
  if (TABLE_PARTS.has(name)) return (open.get('table') ?? 0) === 0;
  return depth > (NESTING.get(name) ?? Number.POSITIVE_INFINITY);
}

/** An image that is part of the page's own bytes: there is nothing to look at elsewhere. */
function isInlineImage({ name, attributes }: ElementNode): boolean {
  return name === 'img' && toAbsolute(attributes['src'], new URL('https://perch.invalid')) === null;
}

/** At least what the text adds to the output, near enough: its own length, and the prefixes of its lines. */
function estimateLength(text: string, open: ReadonlyMap<string, number>): number {
  let prefix = 0;
  for (const [name, width] of PREFIXES)
    prefix += width * Math.min(open.get(name) ?? 0, NESTING.get(name) ?? 0);
  if (prefix === 0) return text.length + 1;
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return text.length + lines * (prefix + 1);
}

/** Null for what leads to no page: scripts, inline data, mail addresses, and what is no URL. */
function toAbsolute(href: string | undefined, base: URL): URL | null {
  const url = href === undefined ? null : parseUrl(href, base);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : null;
}
