/** The guard of what may be fetched: a table of forms, and a search for forms that the table does not have. */
import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { allowHosts, checkAddress, isPublicAddress } from '../../durable/tools/web/address.ts';
import { chooseSeed, createRandom, type Random } from '../support/random.ts';
import { ALLOWED, REFUSED } from './web-addresses.ts';

const NONE = allowHosts([]);

/** Null where the address may be fetched. */
function refusalOf(url: string, allowed = NONE): string | null {
  try {
    checkAddress(url, allowed);
    return null;
  } catch (error) {
    if (error instanceof PerchError && error.data.code === 'address_not_allowed') return error.data.detail;
    throw error;
  }
}

describe('the table of addresses', () => {
  for (const [kind, urls] of Object.entries(REFUSED)) {
    it.each(urls)(`refuses of ${kind}: %s`, (url) => {
      expect(refusalOf(url)).toMatch(/ is not fetched: /);
    });
  }

  it.each(ALLOWED)('allows %s', (url) => {
    expect(refusalOf(url)).toBeNull();
  });

  it('has at least 60 forms that are refused, each once', () => {
    const all = Object.values(REFUSED).flat();
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(150);
  });

  it('says why, without the credentials of the address', () => {
    expect(refusalOf('https://10.0.0.1/')).toBe(
      'https://10.0.0.1 is not fetched: 10.0.0.1 is an address of a private network.',
    );
    expect(refusalOf('http://example.com/')).toContain('only https');
    expect(refusalOf('https://someone:hunter2@example.com/')).not.toContain('hunter2');
    expect(refusalOf(`x${'y'.repeat(9_000)}`)?.length).toBeLessThan(300);
  });
});

describe('hosts that a deployment allows', () => {
  it('are allowed on the named port alone, by any scheme of the web', () => {
    const allowed = allowHosts(['127.0.0.1:8080', '[::1]:9000', 'wiki.internal']);
    expect(refusalOf('http://127.0.0.1:8080/a', allowed)).toBeNull();
    expect(refusalOf('https://127.0.0.1:8080/a', allowed)).toBeNull();
    expect(refusalOf('http://127.1:8080/', allowed)).toBeNull();
    expect(refusalOf('http://[::1]:9000/', allowed)).toBeNull();
    expect(refusalOf('http://wiki.internal:7777/', allowed)).toBeNull();
    expect(refusalOf('http://127.0.0.1:8081/', allowed)).not.toBeNull();
    expect(refusalOf('http://127.0.0.1/', allowed)).not.toBeNull();
    expect(refusalOf('http://127.0.0.2:8080/', allowed)).not.toBeNull();
    expect(refusalOf('http://a.wiki.internal/', allowed)).not.toBeNull();
    expect(refusalOf('ftp://127.0.0.1:8080/', allowed)).not.toBeNull();
    expect(refusalOf('http://user@127.0.0.1:8080/', allowed)).not.toBeNull();
  });

  it('have a default port like any other: 80 and 443 name it', () => {
    expect(refusalOf('http://127.0.0.1/', allowHosts(['127.0.0.1:80']))).toBeNull();
    expect(refusalOf('https://127.0.0.1/', allowHosts(['127.0.0.1:80']))).not.toBeNull();
    expect(refusalOf('https://127.0.0.1/', allowHosts(['127.0.0.1:443']))).toBeNull();
  });

  it.each(['', 'a b', 'http://x/', 'x/path', 'user@x', 'x:99999', 'x?y'])(
    'are refused as an entry: "%s"',
    (entry) => {
      expect(() => allowHosts([entry])).toThrow(TypeError);
    },
  );
});

/** IANA's registries once more, as another implementation reads them. */
const PRIVATE = new BlockList();
const NETS: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
for (const [net, bits] of NETS) PRIVATE.addSubnet(net, bits);
const BEYOND = new BlockList();
BEYOND.addSubnet('192.88.99.0', 24);
BEYOND.addAddress('168.63.129.16');
const PRIVATE_V6 = new BlockList();
for (const [net, bits] of [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  PRIVATE_V6.addSubnet(net, bits, 'ipv6');
}

describe('the search for forms that pass', () => {
  const seed = chooseSeed();

  it(`finds none among 120,000 forms of addresses in refused networks (seed ${seed})`, () => {
    const random = createRandom(seed);
    const passed: string[] = [];
    for (let i = 0; i < 120_000; i += 1) {
      const [net, bits] = random.pick(NETS);
      const url = `https://${writeAddress(drawInside(net, bits, random), random)}/`;
      if (refusalOf(url) === null) passed.push(url);
    }
    expect(passed).toEqual([]);
  });

  it(`refuses no public address among 50,000, in whatever form of IPv4 (seed ${seed})`, () => {
    const random = createRandom(seed + 1);
    const wrong: string[] = [];
    for (let i = 0; i < 50_000; i += 1) {
      const value = random.below(2 ** 32);
      const dotted = toDotted(value);
      const expected = PRIVATE.check(dotted) || BEYOND.check(dotted);
      const url = `https://${writeV4(value, random)}/`;
      if ((refusalOf(url) !== null) !== expected) wrong.push(url);
      if (isPublicAddress(dotted) === expected) wrong.push(dotted);
    }
    expect(wrong).toEqual([]);
  });

  it(`reads IPv6 as another implementation does, 50,000 times (seed ${seed})`, () => {
    const random = createRandom(seed + 2);
    const wrong: string[] = [];
    for (let i = 0; i < 50_000; i += 1) {
      const groups = Array.from({ length: 8 }, () => (random.below(3) === 0 ? 0 : random.below(0x1_0000)));
      if (random.below(2) === 0)
        groups[0] = random.pick([0, 0x64, 0x100, 0x2001, 0x2002, 0x2606, 0x3fff, 0xfc00, 0xfe80, 0xff02]);
      const text = groups.map((group) => group.toString(16)).join(':');
      const isatap = groups[5] === 0x5efe && (groups[4] === 0 || groups[4] === 0x200);
      const expected = PRIVATE_V6.check(text, 'ipv6') || isatap;
      if ((refusalOf(`https://[${text}]/`) !== null) !== expected) wrong.push(text);
    }
    expect(wrong).toEqual([]);
  });

  it(`throws nothing but its own refusal for 50,000 random addresses (seed ${seed})`, () => {
    const random = createRandom(seed + 3);
    const pieces = [
      'https://',
      'http:',
      '//',
      '@',
      ':',
      '/',
      '[',
      ']',
      '.',
      '127',
      '0x7f',
      '%2e',
      '１',
      '。',
      'localhost',
      'a',
      '\\',
      '\t',
      '#',
      '?',
      '::',
      'ffff',
      '\u00ad',
      '\ud800',
      '-',
      'xn--',
      'com',
    ];
    for (let i = 0; i < 50_000; i += 1) {
      const url = Array.from({ length: 1 + random.below(9) }, () => random.pick(pieces)).join('');
      const refusal = refusalOf(url);
      expect(refusal === null || refusal.includes(' is not fetched: ')).toBe(true);
      // What passes is what the request will be made to.
      if (refusal === null) expect(checkAddress(url, NONE).protocol).toBe('https:');
    }
  });
});

function drawInside(net: string, bits: number, random: Random): number {
  const base = net.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return base + random.below(2 ** (32 - bits));
}

function toDotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** One of the forms in which a URL takes an IPv4 address, or in which IPv6 carries one. */
function writeAddress(value: number, random: Random): string {
  if (random.below(3) > 0) return writeV4(value, random);
  const high = Math.floor(value / 0x1_0000).toString(16);
  const low = (value % 0x1_0000).toString(16);
  const dotted = toDotted(value);
  const tail = random.pick([dotted, `${high}:${low}`]);
  return random.pick([
    `[::ffff:${tail}]`,
    `[0:0:0:0:0:FFFF:${tail}]`,
    `[::${tail}]`,
    `[64:ff9b::${tail}]`,
    `[64:ff9b:1::${tail}]`,
    `[2002:${high}:${low}::]`,
    `[2001:0:${high}:${low}::1]`,
    `[2a00:1450::5efe:${tail}]`,
    `[::ffff:0:${tail}]`,
  ]);
}

/** One to four parts, each decimal, octal or hexadecimal, in plain, full-width or escaped characters. */
function writeV4(value: number, random: Random): string {
  const count = 1 + random.below(4);
  const parts: number[] = [];
  let rest = value;
  for (let i = 0; i < count - 1; i += 1) {
    const size = 2 ** (24 - 8 * i);
    parts.push(Math.floor(rest / size));
    rest %= size;
  }
  parts.push(rest);
  const written = parts.map((part) => {
    const form = random.below(4);
    if (form === 0) return `0${part.toString(8)}`;
    if (form === 1)
      return random.pick([
        `0x${part.toString(16)}`,
        `0X${part.toString(16).toUpperCase()}`,
        `0x00${part.toString(16)}`,
      ]);
    return String(part);
  });
  const disguised = written.map((part) => (random.below(6) > 0 ? part : disguiseDigits(part, random)));
  const dot = random.below(8) === 0 ? random.pick(['。', '．', '%2E']) : '.';
  return disguised.join(dot) + random.pick(['', '', '', '.']);
}

function disguiseDigits(text: string, random: Random): string {
  return text.replace(/\d/g, (digit) =>
    random.pick([digit, String.fromCodePoint(0xff10 + Number(digit)), `%3${digit}`]),
  );
}
