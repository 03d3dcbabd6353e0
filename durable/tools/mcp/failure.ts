/** What went wrong with a server, in words that a model and an operator may read. */

import { mcpError, mcpUnavailable, PerchError } from '../../errors.ts';
import type * as Sdk from './sdk.ts';

const SHOWN_CHARS = 500;
const MAX_CAUSES = 5;

/** A session that the server does not know any more: nothing of the request was done. */
export function isLostSession(sdk: typeof Sdk, error: unknown): boolean {
  // 404 is the protocol's answer; older servers say 400.
  return error instanceof sdk.SdkHttpError && (error.status === 404 || error.status === 400);
}

/** `mcp_error` where the server answered with an error of its own, `mcp_unavailable` otherwise. */
export function describeMcpFailure(
  sdk: typeof Sdk | null,
  server: string,
  error: unknown,
  secrets: readonly string[],
): PerchError {
  const shown = (text: string) => redact(text, secrets).slice(0, SHOWN_CHARS).toWellFormed();
  if (error instanceof PerchError) return error;
  if (sdk === null) return mcpUnavailable(`${server} cannot be used here.`);
  if (error instanceof sdk.ProtocolError)
    return mcpError(`${server} answered: ${shown(error.message)} (${error.code})`);
  if (error instanceof sdk.SdkHttpError) return describeStatus(server, error, shown);
  const nested = findPerchError(error);
  if (nested !== null) return nested;
  if (isRefusal(sdk, error)) return mcpUnavailable(describeRefusal(server));
  if (error instanceof sdk.SdkError) {
    if (error.code === sdk.SdkErrorCode.RequestTimeout) return mcpUnavailable(`${server} does not answer.`);
    return mcpUnavailable(`${server} does not speak the protocol: ${shown(error.message)}`);
  }
  if (error instanceof DOMException) return mcpUnavailable(`${server} does not answer.`);
  return mcpUnavailable(`${server} does not speak the protocol: ${shown(toLine(error))}`);
}

function describeStatus(
  server: string,
  error: Sdk.SdkHttpError,
  shown: (text: string) => string,
): PerchError {
  const { status } = error;
  if (status === 401 || status === 403) return mcpUnavailable(describeRefusal(server));
  if (status >= 300 && status < 400)
    return mcpUnavailable(`${server} redirects to another place (${status}), which is not followed.`);
  if (status >= 500) return mcpUnavailable(`${server} has a fault of its own (${status}).`);
  return mcpUnavailable(`${server} answered ${status}: ${shown(error.message)}`);
}

function describeRefusal(server: string): string {
  return `${server} does not take the credentials that it is given. Only an operator can put that right.`;
}

function isRefusal(sdk: typeof Sdk, error: unknown): boolean {
  return (
    error instanceof sdk.UnauthorizedError ||
    error instanceof sdk.OAuthError ||
    error instanceof sdk.InsufficientScopeError ||
    error instanceof sdk.OAuthClientFlowError
  );
}

/** What the guard around fetch threw, which the package wraps. */
function findPerchError(error: unknown): PerchError | null {
  let inner = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof inner === 'object' && inner !== null; depth++) {
    if (inner instanceof PerchError) return inner;
    const data: unknown = Reflect.get(inner, 'data');
    inner =
      Reflect.get(inner, 'cause') ?? (typeof data === 'object' && data ? Reflect.get(data, 'cause') : null);
  }
  return null;
}

function toLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, ' ');
}

/** What a server sends back of its own credentials goes into no result and no log. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
}
