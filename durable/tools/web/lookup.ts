/** Names looked up over DNS over HTTPS, in the JSON form that the public resolvers share. */
import { z } from 'zod';
import { fetchFailed } from '../../errors.ts';
import { readBody } from './read-body.ts';
import type { Fetch, NameResolver } from './request-page.ts';

const PUBLIC_RESOLVER = 'https://cloudflare-dns.com/dns-query';
/** Far more than a name's addresses take. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** RFC 1035 and RFC 3596. */
const TYPES = { A: 1, AAAA: 28 } as const;

const answer = z.object({
  Status: z.number(),
  Answer: z.array(z.object({ type: z.number(), data: z.string() })).default([]),
});

/**
 * For `webTools({ resolve })`: two more requests a hop. What it cannot close is the time between the look-up and the
 * request, in which a name server may give another answer: there the network is what keeps private addresses out.
 */
export function dnsOverHttps(
  server: string = PUBLIC_RESOLVER,
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): NameResolver {
  const ask = async (name: string, type: keyof typeof TYPES, signal: AbortSignal): Promise<string[]> => {
    const url = `${server}?name=${encodeURIComponent(name)}&type=${type}`;
    const parsed = answer.safeParse(await askJson(url, fetch, name, signal));
    // 3 is NXDOMAIN (RFC 1035): the name does not exist, and that is an answer.
    if (!parsed.success || (parsed.data.Status !== 0 && parsed.data.Status !== 3)) throw refuse(name);
    return parsed.data.Answer.filter((record) => record.type === TYPES[type]).map(({ data }) => data);
  };
  return async (name, signal) => {
    const found = await Promise.all([ask(name, 'A', signal), ask(name, 'AAAA', signal)]);
    return found.flat();
  };
}

async function askJson(url: string, fetch: Fetch, name: string, signal: AbortSignal): Promise<unknown> {
  try {
    const headers = { accept: 'application/dns-json', 'user-agent': 'Perch' };
    const response = await fetch(url, { headers, redirect: 'manual', signal });
    const bytes = await readBody(response.body, MAX_ANSWER_BYTES, signal);
    return response.ok ? JSON.parse(new TextDecoder().decode(bytes)) : null;
  } catch {
    // A server that fails, or answers something else, does not say that the name is harmless.
    signal.throwIfAborted();
    throw refuse(name);
  }
}

function refuse(name: string) {
  return fetchFailed(`${name} cannot be looked up.`);
}
