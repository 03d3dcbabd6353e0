/** A workspace over the database of a real object, and the routes of files before it. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { Hono } from 'hono';
import { z } from 'zod';
import { type Outcome, toErrorData } from '../../durable/errors.ts';
import { createReceipts } from '../../durable/inbox/receipts.ts';
import { createSqlPort, type SqlPort } from '../../durable/storage/index.ts';
import { createWorkspace, WORKSPACE_TABLES, type Workspace } from '../../durable/workspace/index.ts';
import * as requests from '../../durable/workspace/requests.ts';
import { type AppEnv, answerProblem } from '../../worker/http/index.ts';
import { fileRoutes } from '../../worker/routes/files.ts';

const bindings = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() });

export interface OpenObject {
  /** Runs inside the object; every call sees the same files. */
  within: <T>(use: (workspace: Workspace, sql: SqlPort) => T | Promise<T>) => Promise<T>;
  request: (
    method: string,
    path: string,
    body?: BodyInit | null,
    headers?: Record<string, string>,
  ) => Promise<Response>;
}

/** An object of its own, with nothing in its database but files and receipts. */
export async function openObject(): Promise<OpenObject> {
  const { SESSIONS } = bindings.parse(env);
  const stub = SESSIONS.get(SESSIONS.newUniqueId());
  const within: OpenObject['within'] = (use) =>
    runInDurableObject(stub, (_, state) => {
      const sql = createSqlPort(state.storage);
      return use(createWorkspace(sql, '/workspace', Date.now), sql);
    });
  await within((_, sql) => {
    for (const statement of WORKSPACE_TABLES) sql.run(statement);
    sql.run('CREATE TABLE receipts (key TEXT PRIMARY KEY, digest TEXT, receipt TEXT, at INTEGER)');
  });
  const app = openApp(within);
  return {
    within,
    request: async (method, path, body = null, headers = {}) =>
      app.fetch(new Request(`https://perch.test/v1/sessions/s1/files${path}`, { method, body, headers })),
  };
}

function openApp(within: OpenObject['within']): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const rpc = answerWithin(within);
  app.use(async (c, next) => {
    // What a key and the configuration would bring.
    c.set('caller', { tenant: 't', keyId: 'k', scopes: [] } as never);
    c.set('config', {
      objectNameSecret: 'a secret',
      sessions: { idFromName: () => null, get: () => rpc },
    } as never);
    await next();
  });
  for (const { method, path, handle } of fileRoutes()) app.on(method, path, handle);
  app.onError((error) => answerProblem(toErrorData(error)));
  return app;
}

function answerWithin(within: OpenObject['within']): requests.FilesRpc {
  const answer = <T>(use: (workspace: Workspace, sql: SqlPort) => T | Promise<T>): Promise<Outcome<T>> =>
    within(async (workspace, sql) => {
      try {
        return { ok: true, value: await use(workspace, sql) };
      } catch (error) {
        return { ok: false, error: toErrorData(error) };
      }
    });
  return {
    listFiles: (input) => answer((workspace) => requests.listFiles(workspace, input)),
    getFile: (input) => answer((workspace) => requests.getFile(workspace, input)),
    putFile: (input) => answer((workspace) => requests.putFile(workspace, input)),
    deleteFile: (input) => answer((workspace) => requests.deleteFile(workspace, input)),
    importFiles: (input) =>
      answer((workspace, sql) => {
        const receipts = createReceipts(sql, Date.now);
        const commit = <T>(write: () => T): T => sql.atomically(write);
        return requests.importFiles({ workspace, receipts, commit }, input);
      }),
  };
}
