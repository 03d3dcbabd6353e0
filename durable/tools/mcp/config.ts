/** What a deployer wrote about servers, checked when the worker starts. */
import { registryDuplicate, registryInvalid } from '../../errors.ts';
import type { McpServer } from './types.ts';

/** Well below the ten minutes after which a turn that does not move is taken for stuck. */
const MAX_TIMEOUT_MS = 300_000;
const SERVER_NAME = /^(?=.{1,20}$)[a-z0-9]+(-[a-z0-9]+)*$/;

/** Throws `registry_invalid` and `registry_duplicate`. */
export function checkServers(servers: readonly McpServer[], allowHosts: readonly string[]): void {
  const names = servers.map(({ name }) => name);
  for (const [i, { name, url, auth, timeoutMs = 1 }] of servers.entries()) {
    if (!SERVER_NAME.test(name)) {
      throw registryInvalid(
        `The MCP server name ${JSON.stringify(name)} is not made of at most 20 lower-case letters, digits and inner hyphens.`,
      );
    }
    if (names.indexOf(name) !== i)
      throw registryDuplicate(`The MCP server ${name} is named twice.`, { name });
    const parsed = URL.parse(url);
    if (parsed === null || parsed.username !== '' || parsed.password !== '' || parsed.hash !== '') {
      throw registryInvalid(`The MCP server ${name} has no address that can be used.`, { name });
    }
    if (!mayAsk(parsed, allowHosts)) {
      throw registryInvalid(
        `The MCP server ${name} is not reached over https, and its host is not among allowHosts.`,
        { name },
      );
    }
    if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
      throw registryInvalid(`The MCP server ${name} may take from 1 to ${MAX_TIMEOUT_MS} ms for a call.`, {
        name,
      });
    }
    if (auth?.kind === 'header' && !/^[A-Za-z0-9-]+$/.test(auth.name)) {
      throw registryInvalid(`The MCP server ${name} names a header that is none.`, { name });
    }
  }
}

/** The deployer names servers, so their networks are trusted; what may be read on the way there is not. */
export function mayAsk(url: URL, allowHosts: readonly string[]): boolean {
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && (allowHosts.includes(url.hostname) || allowHosts.includes(url.host));
}
