/** One page's response: redirects followed by hand, each address checked before it is asked. */
import { addressNotAllowed, fetchFailed } from '../../errors.ts';
import { type AllowedHosts, checkAddress, isPublicAddress, needsLookup } from './address.ts';
import { dropBody } from './read-body.ts';

/** Enough for http to https, an apex to www, a moved page and a language; more is a loop or a trap. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** What every request carries, to whatever origin: nothing in it is worth stealing. */
const HEADERS = {
  'user-agent': 'Perch',
  accept:
    'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/*;q=0.8, */*;q=0.5',
};

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The addresses of a name, IPv4 and IPv6; empty where it has none. Throws `fetch_failed` where that cannot be known. */
export type NameResolver = (name: string, signal: AbortSignal) => Promise<string[]>;

export interface RequestPorts {
  fetch: Fetch;
  allowed: AllowedHosts;
  /** Null where names are not looked up: the network alone keeps private addresses out. */
  resolve: NameResolver | null;
}

export interface PageResponse {
  /** Where the response came from, after redirects. */
  url: URL;
  response: Response;
}

/**
 * Throws `address_not_allowed` for the address or for one that it leads to, `fetch_failed` for a host that cannot be
 * reached, a redirect to nowhere, in a circle or too many of them; and the signal's reason.
 */
export async function requestPage(
  text: string,
  ports: RequestPorts,
  signal: AbortSignal,
): Promise<PageResponse> {
  let url = await admitAddress(text, ports, signal);
  const seen = new Set<string>();
  while (true) {
    seen.add(stripFragment(url));
    const response = await send(url, ports.fetch, signal);
    if (!REDIRECTS.has(response.status)) return { url, response };
    const location = response.headers.get('location');
    dropBody(response);
    if (location === null) {
      throw fetchFailed(`${url.host} answered ${response.status}, a redirect, without saying where to.`);
    }
    url = await admitAddress(location, ports, signal, url);
    if (seen.has(stripFragment(url))) throw fetchFailed(`${url.host} redirects in a circle.`);
    if (seen.size > MAX_REDIRECTS) throw fetchFailed(`There are more than ${MAX_REDIRECTS} redirects.`);
  }
}

/** Every address passes here, the first one and each that a redirect names. */
async function admitAddress(
  text: string,
  ports: RequestPorts,
  signal: AbortSignal,
  base?: URL,
): Promise<URL> {
  const url = checkAddress(text, ports.allowed, base);
  if (ports.resolve === null || ports.allowed.has(url) || !needsLookup(url)) return url;
  const addresses = await ports.resolve(url.hostname, signal);
  if (addresses.length === 0) throw fetchFailed(`${url.hostname} has no address.`);
  if (addresses.every(isPublicAddress)) return url;
  throw addressNotAllowed(`${url.origin} is not fetched: ${url.hostname} leads to a local network.`);
}

async function send(url: URL, fetch: Fetch, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url.href, { method: 'GET', redirect: 'manual', headers: HEADERS, signal });
  } catch {
    // The runtimes differ in what they say here, and say nothing that a reader could use.
    signal.throwIfAborted();
    throw fetchFailed(`${url.host} cannot be reached.`);
  }
}

function stripFragment(url: URL): string {
  return url.href.slice(0, url.href.length - url.hash.length);
}
