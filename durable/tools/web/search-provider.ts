/** The seam between the tool `web_search` and the services that search. */
import { PerchError, searchFailed } from '../../errors.ts';
import { parseUrl } from './address.ts';
import { readBody } from './read-body.ts';
import type { Fetch } from './request-page.ts';

export interface SearchResult {
  title: string;
  /** http or https. */
  url: string;
  /** What the service shows of the page; may be empty. */
  snippet: string;
}

export interface SearchProvider {
  /** As people know it: it stands in results and errors. */
  name: string;
  /**
   * At most `count` results, best first; none is an answer. Throws `search_failed`, with a message for a model and
   * without a word that the key or the service's answer could be read from.
   */
  search: (query: string, options: { count: number; signal: AbortSignal }) => Promise<SearchResult[]>;
}

/** A provider that comes to life where the deployment has its key. */
export interface SearchService {
  name: string;
  /** The name of the variable or secret; never a value. */
  key: string;
  open: (key: string, fetch: Fetch) => SearchProvider;
}

/** Where the service is, and where its key is to be found. */
export interface ServiceOptions {
  key?: string;
  baseUrl?: string;
}

/** Twenty results with long snippets are some tens of KB. */
const MAX_ANSWER_BYTES = 2_000_000;

export interface ServiceRequest {
  name: string;
  key: string;
  url: string;
  init: RequestInit;
  /** What a status means where it is the service's own; the others mean what they mean everywhere. */
  statuses?: Readonly<Record<number, string>>;
}

/**
 * The service's answer as JSON. Redirects are not followed: the key is for one origin. Throws `search_failed`, and the
 * signal's reason.
 */
export async function askService(
  request: ServiceRequest,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<unknown> {
  const { name, url, init } = request;
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal });
    const bytes = await readBody(response.body, MAX_ANSWER_BYTES, signal);
    const body = parseJson(new TextDecoder().decode(bytes));
    if (!response.ok) throw describeRefusal(request, response, body);
    if (body === undefined) throw searchFailed(`${name} answered with something else than JSON.`);
    return body;
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof PerchError ? error.data.code : null;
    if (code === 'search_failed') throw error;
    if (code === 'fetch_too_large') throw searchFailed(`The answer of ${name} is too long to be read.`);
    // What a runtime says of a request that failed may hold its headers, and the key is one of them.
    throw searchFailed(`${name} cannot be reached.`);
  }
}

export function refuseShape(name: string): PerchError {
  return searchFailed(`${name} answered in a form that is not its documented one.`);
}

/** Tags and character references out, white space folded: what services send of titles and snippets. */
export function toPlainText(text: string): string {
  return text
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, '')
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, decodeReference)
    .replace(/\s+/g, ' ')
    .trim()
    .toWellFormed();
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

function decodeReference(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
}

/** Links that `web_fetch` could not follow are no results. */
export function isWebAddress(url: string): boolean {
  return /^https?:$/.test(parseUrl(url)?.protocol ?? '');
}

function describeRefusal(request: ServiceRequest, { status, headers }: Response, body: unknown): PerchError {
  const { name, key, statuses = {} } = request;
  const facts = { status, service: name };
  const own = statuses[status];
  if (own !== undefined) return searchFailed(`${name}: ${own} (${status}).`, facts);
  if (status === 401 || status === 403 || saysKeyIsBad(body)) {
    return searchFailed(
      `${name} does not take the key in ${key} (${status}). Only an operator can put that right.`,
      facts,
    );
  }
  if (status === 429) {
    const pause = readPause(headers);
    const when = pause === null ? 'Try again later' : `Try again in ${pause} s`;
    return searchFailed(`${name} limits the rate of searches (429). ${when}, or go on without.`, facts);
  }
  if (status >= 500)
    return searchFailed(`${name} has a fault of its own (${status}). Try again later.`, facts);
  if (status >= 300 && status < 400)
    return searchFailed(`${name} is not where it is expected (${status}).`, facts);
  return searchFailed(`${name} does not take this query (${status}).`, facts);
}

/** Brave answers 422 for a key that it does not know, with a code of its own. */
function saysKeyIsBad(body: unknown): boolean {
  return JSON.stringify(body ?? null).includes('SUBSCRIPTION_TOKEN_INVALID');
}

/** Whole seconds: Retry-After, or the first of Brave's windows. */
function readPause(headers: Headers): number | null {
  const value = headers.get('retry-after') ?? headers.get('x-ratelimit-reset')?.split(',')[0] ?? '';
  return /^\s*\d{1,6}\s*$/.test(value) ? Number(value) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Said by the caller, who knows whether the status says more.
    return undefined;
  }
}
