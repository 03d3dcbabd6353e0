/** What a route is: one declaration that is registered, authorised and documented from the same data. */
import type { Context } from 'hono';
import type { z } from 'zod';
import type { Caller, Scope } from '../auth/index.ts';
import type { Config } from '../config.ts';

export interface AppEnv {
  Bindings: object;
  Variables: {
    requestId: string;
    config: Config;
    /** Set on routes that have a scope. */
    caller: Caller;
  };
}
export type AppContext = Context<AppEnv>;

export interface NamedSchema {
  /** Its name among the document's components. */
  name: string;
  schema: z.ZodType;
}

export interface RouteResponse {
  status: number;
  description: string;
  /** By media type: the schema of the body, or null where it is bytes or text of another kind. */
  content?: Record<string, NamedSchema | null>;
}

export interface RouteHeader {
  name: string;
  description: string;
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * A pattern of Hono's; `:id` is a session's id, `:message` a message's, `:name` a skill's name, `:path{[^]+}` all that
   * follows.
   */
  path: string;
  /** What the caller's key needs; null is open to anyone. */
  scope: Scope | null;
  /** The operation's id in the OpenAPI document. */
  operation: string;
  summary: string;
  description?: string;
  query?: z.ZodObject;
  headers?: readonly RouteHeader[];
  body?: NamedSchema;
  /** The body may also be a form with a part for each file. */
  takesFiles?: boolean;
  /** Media types of a body that is bytes. */
  takesBytes?: readonly string[];
  responses: readonly RouteResponse[];
  handle: (c: AppContext) => Response | Promise<Response>;
}

export const IDEMPOTENCY_KEY_HEADER: RouteHeader = {
  name: 'Idempotency-Key',
  description:
    'Makes the request safe to send again: the same key with the same body gets the first answer, with another body 409.',
};
