/** The caller's objects: every name is made from the tenant of the key, so nobody can name another tenant's. */
import { z } from 'zod';
import type { DirectoryRpc, SessionRpc } from '../../durable/rpc.ts';
import { directoryName, objectName } from '../auth/index.ts';
import { type AppContext, createSessionNotFound } from '../http/index.ts';

export const SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/;
export const sessionIdText = z.string().regex(SESSION_ID, 'is 1 to 64 of A-Z a-z 0-9 _ -');

/** The session object of this id. Nothing is awaited: whether it exists, its answers say. */
export function sessionObject(c: AppContext, id: string): SessionRpc {
  const { sessions } = c.var.config;
  const object = sessions.idFromName(nameOfSession(c, id));
  return renewStub(() => sessions.get(object));
}

/** A stub stays broken once its object was reset; each call takes a new one, so that a stream goes on after a crash. */
function renewStub(open: () => SessionRpc): SessionRpc {
  return new Proxy(open(), {
    get:
      (_, method) =>
      (...input: unknown[]) => {
        const stub = open();
        return Reflect.apply(Reflect.get(stub, method), stub, input);
      },
  });
}

export function nameOfSession(c: AppContext, id: string): string {
  return objectName(c.var.config.objectNameSecret, c.var.caller.tenant, id);
}

/** The session that the path names. Throws `session_not_found` where it cannot be an id. */
export function sessionInPath(c: AppContext): { id: string; session: SessionRpc } {
  const id = c.req.param('id') ?? '';
  if (!SESSION_ID.test(id)) throw createSessionNotFound();
  return { id, session: sessionObject(c, id) };
}

/** Who asks, as the log names them. */
export function callerName(c: AppContext): string {
  return `key:${c.var.caller.keyId}`;
}

export function directoryObject(c: AppContext): DirectoryRpc {
  const { directories, objectNameSecret } = c.var.config;
  return directories.get(directories.idFromName(directoryName(objectNameSecret, c.var.caller.tenant)));
}
