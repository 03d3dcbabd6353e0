import { DatabaseSync } from 'node:sqlite';
import { createWorkspace, WORKSPACE_TABLES } from '../../durable/workspace/index.ts';
import { createSqlitePort } from '../../scripts/local/sqlite-port.ts';

const sql = createSqlitePort(new DatabaseSync(':memory:'));
for (const statement of WORKSPACE_TABLES) sql.run(statement);

/** An empty one, for tools that have no use for files. */
export const NO_WORKSPACE = createWorkspace(sql, '/workspace', () => 0);
