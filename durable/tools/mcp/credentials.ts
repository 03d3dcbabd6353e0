/** A server's credentials, from the deployment's variables to what a request carries. */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { ToolContext } from '../types.ts';
import type { McpAuth } from './types.ts';

type Env = ToolContext['env'];
type OAuth = Extract<McpAuth, { kind: 'oauth' }>;

/** `secrets` are what no message may show. */
export interface Credential {
  headers: Readonly<Record<string, string>>;
  provider: OAuthClientProvider | null;
  secrets: readonly string[];
}

const NONE: Credential = { headers: {}, provider: null, secrets: [] };

/**
 * Null where a variable is not set, or holds what no header can carry (a runtime that is handed such a header writes it
 * into its log).
 */
export function readCredential(auth: McpAuth | undefined, env: Env): Credential | null {
  if (auth === undefined) return NONE;
  if (auth.kind === 'oauth') return readOAuth(auth, env);
  const value = readSecret(env, auth.envVar);
  if (value === null) return null;
  const headers =
    auth.kind === 'bearer' ? { authorization: `Bearer ${value}` } : { [auth.name.toLowerCase()]: value };
  return { headers, provider: null, secrets: [value] };
}

function readSecret(env: Env, name: string): string | null {
  const value = env[name];
  if (typeof value !== 'string') return null;
  const trimmed = value.trim();
  return /^[\x20-\x7e]+$/.test(trimmed) ? trimmed : null;
}

function readOAuth(auth: OAuth, env: Env): Credential | null {
  const id = readSecret(env, auth.clientIdVar);
  const secret = auth.clientSecretVar === undefined ? null : readSecret(env, auth.clientSecretVar);
  if (id === null || (auth.clientSecretVar !== undefined && secret === null)) return null;
  const information: StoredOAuthClientInformation = {
    client_id: id,
    ...(secret === null ? {} : { client_secret: secret }),
    issuer: auth.issuer,
  };
  const secrets = secret === null ? [] : [secret];
  if (auth.grant === 'client_credentials')
    return { headers: {}, provider: createProvider(auth, information, null), secrets };
  const refresh = readSecret(env, auth.refreshTokenVar);
  if (refresh === null) return null;
  const provider = createProvider(auth, information, refresh);
  return { headers: {}, provider, secrets: [...secrets, refresh] };
}

/** No person can be asked here: where the tokens are not enough, the server has no tools until an operator acts. */
function createProvider(
  auth: OAuth,
  information: StoredOAuthClientInformation,
  refreshToken: string | null,
): OAuthClientProvider {
  const metadata: OAuthClientMetadata = {
    client_name: 'Perch',
    redirect_uris: [],
    grant_types: [auth.grant],
    token_endpoint_auth_method: information.client_secret === undefined ? 'none' : 'client_secret_basic',
    ...(auth.scope === undefined ? {} : { scope: auth.scope }),
  };
  let tokens: StoredOAuthTokens | undefined;
  const refuse = (): never => {
    throw new Error('a person would have to sign in');
  };
  return {
    redirectUrl: undefined,
    clientMetadata: metadata,
    clientInformation: () => information,
    tokens: () => tokens,
    saveTokens(fresh) {
      tokens = fresh;
    },
    redirectToAuthorization: refuse,
    saveCodeVerifier: () => undefined,
    codeVerifier: refuse,
    // Without an address to redirect to, the package asks here for every grant, a refresh included.
    prepareTokenRequest(scope?: string) {
      const wanted = scope ?? auth.scope;
      return new URLSearchParams({
        grant_type: auth.grant,
        ...(refreshToken === null ? {} : { refresh_token: tokens?.refresh_token ?? refreshToken }),
        ...(wanted === undefined ? {} : { scope: wanted }),
      });
    },
  };
}
