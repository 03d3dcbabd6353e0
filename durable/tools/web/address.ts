/**
 * What may be fetched: https, on its own port, from a name or an address of the public internet. Pure: it judges what a
 * URL says. Where a name leads is the resolver's to know (`NameResolver`) and the network's to enforce.
 */
import { addressNotAllowed, type PerchError } from '../../errors.ts';
import { classifyHost } from './networks.ts';

/** Names that a network of one's own gives out, and names that are reserved from the public tree. */
const LOCAL_SUFFIXES = [
  // RFC 6761, 6762, 7686, 8375, 9476; and ICANN's `internal`.
  'localhost',
  'local',
  'internal',
  'home.arpa',
  'test',
  'example',
  'invalid',
  'onion',
  'alt',
  // Not reserved, and used inside of networks all the same.
  'localdomain',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'consul',
  'svc',
  // Reverse lookups and the like: no pages.
  'in-addr.arpa',
  'ip6.arpa',
];

/** Metadata services of clouds whose names are not in one of the domains above. */
const METADATA_NAMES = [
  'metadata.goog',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'metadata.tencentyun.com',
];

/** Services whose names lead to the address that stands in them, or to loopback. */
const ECHO_SUFFIXES = [
  'nip.io',
  'sslip.io',
  'xip.io',
  'xip.name',
  'traefik.me',
  'localtest.me',
  'lvh.me',
  'vcap.me',
  'lacolhost.com',
  'fuf.me',
  'local.gd',
  'localho.st',
  '1u.ms',
  'rbndr.us',
];

/** Hosts that a deployment allows whatever they are. */
export interface AllowedHosts {
  has: (url: URL) => boolean;
}

/**
 * Each entry is `host` (every port) or `host:port`, as in a URL; an IPv6 address stands in brackets. Throws a
 * `TypeError` for an entry that is no host.
 */
export function allowHosts(entries: readonly string[]): AllowedHosts {
  const allowed = entries.map((entry) => {
    const url = parseUrl(`http://${entry}/`);
    if (url === null || url.pathname !== '/' || url.username !== '' || url.search !== '') {
      throw new TypeError(`"${entry}" is not a host, with or without a port.`);
    }
    return { host: url.hostname, port: /:\d+$/.test(entry) ? portOf(url) : null };
  });
  return {
    has: (url) =>
      allowed.some(({ host, port }) => host === url.hostname && (port ?? portOf(url)) === portOf(url)),
  };
}

/**
 * The URL, normalised as the URL standard says (octal and short IPv4 forms, full-width digits, punycode). Throws
 * `address_not_allowed`, saying what is wrong with it. `base` is the address that a redirect came from.
 */
export function checkAddress(text: string, allowed: AllowedHosts, base?: URL): URL {
  const url = parseUrl(text, base);
  if (url === null) throw refuse(text, 'it is not a URL');
  if (url.username !== '' || url.password !== '') throw refuse(url.origin, 'it has credentials in it');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse(url.protocol, 'only https is fetched');
  if (allowed.has(url)) return url;
  const reason = findFault(url);
  if (reason !== null) throw refuse(url.origin, reason);
  return url;
}

/** Whether this address, as a name server gives it, is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  const url = parseUrl(`https://${address.includes(':') ? `[${address}]` : address}/`);
  return url !== null && classifyHost(url.hostname).kind === 'public';
}

/** Whether its host is a name, so that a name server decides where it leads. */
export function needsLookup({ hostname }: URL): boolean {
  return classifyHost(hostname).kind === 'name';
}

/** Null where the URL is in order. What it is refused for is never hidden: the reader of it may be mistaken, not hostile. */
function findFault(url: URL): string | null {
  if (url.protocol !== 'https:') return 'only https is fetched';
  if (url.port !== '') return `the port ${url.port} is not the port of https`;
  const host = classifyHost(url.hostname);
  if (host.kind === 'special') return `${url.hostname} is an address of ${host.purpose}`;
  return host.kind === 'public' ? null : findNameFault(url.hostname);
}

function findNameFault(name: string): string | null {
  if (name === '') return 'it names no host';
  if (name.endsWith('.')) return 'its name ends with a dot';
  if (!name.includes('.')) return `${name} is a name of a local network`;
  if (LOCAL_SUFFIXES.some((suffix) => isWithin(name, suffix))) return `${name} is a name of a local network`;
  if (METADATA_NAMES.some((known) => isWithin(name, known))) return `${name} is a metadata service`;
  if (ECHO_SUFFIXES.some((suffix) => isWithin(name, suffix))) return `${name} may lead to a local network`;
  return null;
}

function isWithin(name: string, suffix: string): boolean {
  return name === suffix || name.endsWith(`.${suffix}`);
}

function portOf({ port, protocol }: URL): string {
  if (port !== '') return port;
  return protocol === 'https:' ? '443' : '80';
}

/**
 * Null where the text is no URL. Not `URL.canParse`: in Node's optimised code it takes the characters of Latin-1 for
 * bytes of UTF-8, and so says something else than the constructor.
 */
export function parseUrl(text: string, base?: URL): URL | null {
  try {
    return new URL(text, base);
  } catch {
    // A TypeError, the constructor's only way to say no.
    return null;
  }
}

const SHOWN_CHARACTERS = 200;

function refuse(what: string, why: string): PerchError {
  const shown = what.length > SHOWN_CHARACTERS ? `${what.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : what;
  return addressNotAllowed(`${shown} is not fetched: ${why}.`);
}
