/**
 * Which IP addresses belong to the public internet. The tables are IANA's registries of special-purpose addresses
 * (RFC 6890 and what was added since), read strictly: what is not plainly public is not.
 */

interface Network {
  /** The first address, as a number (IPv4) or as its leading groups (IPv6). */
  from: number;
  bits: number;
  name: string;
}

const V4: readonly Network[] = [
  network('0.0.0.0/8', 'this network'),
  network('10.0.0.0/8', 'a private network'),
  network('100.64.0.0/10', "a carrier's shared network"),
  network('127.0.0.0/8', 'this machine'),
  network('168.63.129.16/32', "a cloud's metadata service"),
  network('169.254.0.0/16', 'a local link or a metadata service'),
  network('172.16.0.0/12', 'a private network'),
  network('192.0.0.0/24', 'protocol assignments'),
  network('192.0.2.0/24', 'documentation'),
  network('192.88.99.0/24', 'a tunnel between IPv4 and IPv6'),
  network('192.168.0.0/16', 'a private network'),
  network('198.18.0.0/15', 'tests of networks'),
  network('198.51.100.0/24', 'documentation'),
  network('203.0.113.0/24', 'documentation'),
  network('224.0.0.0/4', 'many receivers at once'),
  network('255.255.255.255/32', 'all of a local network'),
  network('240.0.0.0/4', 'nobody: it is reserved'),
];

/**
 * `host` is a URL's hostname, so it is normalised: dotted decimal, or lower-case hex in brackets. What the address is
 * for where it is not public; null where it is, and `name` where the host is no address.
 */
export function classifyHost(
  host: string,
): { kind: 'public' | 'name' } | { kind: 'special'; purpose: string } {
  if (host.startsWith('[')) return toVerdict(findPurposeV6(parseV6(host.slice(1, -1))));
  const v4 = parseV4(host);
  return v4 === null ? { kind: 'name' } : toVerdict(findPurposeV4(v4));
}

function toVerdict(purpose: string | null): { kind: 'public' } | { kind: 'special'; purpose: string } {
  return purpose === null ? { kind: 'public' } : { kind: 'special', purpose };
}

function findPurposeV4(address: number): string | null {
  const found = V4.find(({ from, bits }) => {
    const size = 2 ** (32 - bits);
    return address >= from && address < from + size;
  });
  return found?.name ?? null;
}

/** Only 2000::/3 is given out; the rest is loopback, mapped, translated, local, multicast or nobody's. */
function findPurposeV6(groups: readonly number[]): string | null {
  const [first = 0, second = 0, , , fifth, sixth] = groups;
  if (first >> 13 !== 0b001) return describeOutside(groups);
  if (first === 0x2001 && second === 0) return 'a tunnel between IPv4 and IPv6';
  if (first === 0x2001 && second < 0x200) return 'protocol assignments';
  if (first === 0x2001 && second === 0xdb8) return 'documentation';
  if (first === 0x3fff && second < 0x1000) return 'documentation';
  if (first === 0x2002) return 'a tunnel between IPv4 and IPv6';
  // ISATAP (RFC 5214): the interface's number says which IPv4 address it goes to.
  if (sixth === 0x5efe && (fifth === 0 || fifth === 0x200)) return 'a tunnel between IPv4 and IPv6';
  return null;
}

function describeOutside(groups: readonly number[]): string {
  const [first = 0, second = 0] = groups;
  const last = groups.at(-1) ?? 0;
  const begins = groups.slice(0, 7);
  if (begins.every((group) => group === 0) && last === 0) return 'no host in particular';
  if (begins.every((group) => group === 0) && last === 1) return 'this machine';
  if (first === 0) return 'an IPv4 address inside an IPv6 one';
  if (first === 0x64 && second === 0xff9b) return 'an IPv4 address inside an IPv6 one';
  if (first >> 9 === 0xfc >> 1) return 'a private network';
  if (first >> 6 === 0xfe80 >> 6) return 'a local link';
  if (first >> 6 === 0xfec0 >> 6) return 'a private network';
  if (first >> 8 === 0xff) return 'many receivers at once';
  return 'nobody: it is reserved';
}

/** Null where it is no dotted decimal of four parts. */
export function parseV4(text: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** The eight groups of an address as the URL standard writes it: no embedded dotted decimal. */
function parseV6(text: string): number[] {
  const [before = '', after] = text.split('::');
  const head = toGroups(before);
  if (after === undefined) return head;
  const tail = toGroups(after);
  return [...head, ...new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail];
}

function toGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function network(cidr: string, name: string): Network {
  const [address = '', bits = '32'] = cidr.split('/');
  return { from: parseV4(address) ?? 0, bits: Number(bits), name };
}
