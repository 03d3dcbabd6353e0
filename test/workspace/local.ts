/** A workspace over a database of this process. */
import { DatabaseSync } from 'node:sqlite';
import { PerchError } from '../../durable/errors.ts';
import type { SqlPort } from '../../durable/storage/index.ts';
import { createWorkspace, WORKSPACE_TABLES, type Workspace } from '../../durable/workspace/index.ts';
import { createSqlitePort } from '../../scripts/local/sqlite-port.ts';

export interface Local {
  workspace: Workspace;
  sql: SqlPort;
}

export function openLocal(cwd = '/workspace'): Local {
  const sql = createSqlitePort(new DatabaseSync(':memory:'));
  for (const statement of WORKSPACE_TABLES) sql.run(statement);
  let time = 1_000;
  return { workspace: createWorkspace(sql, cwd, () => time++), sql };
}

export function openWorkspace(cwd?: string): Workspace {
  return openLocal(cwd).workspace;
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Writes files by path. */
export function fill(workspace: Workspace, files: Record<string, string>): Workspace {
  for (const [path, text] of Object.entries(files)) workspace.write(path, bytesOf(text));
  return workspace;
}

/** The error's code and sentence; throws where there is none. */
export function catchError(run: () => unknown): { code: string; detail: string } {
  try {
    run();
  } catch (error) {
    if (error instanceof PerchError) return error.data;
    throw error;
  }
  throw new Error('it did not fail');
}

export async function catchRejection(run: Promise<unknown>): Promise<{ code: string; detail: string }> {
  const error = await run.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof PerchError) return error.data;
  throw error ?? new Error('it did not fail');
}
