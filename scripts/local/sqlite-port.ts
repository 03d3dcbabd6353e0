/** The SQL port over Node's own SQLite, so that a session runs in one process without the platform. */
import type { DatabaseSync } from 'node:sqlite';
import type { SqlPort, SqlValue } from '../../durable/storage/index.ts';

export function createSqlitePort(db: DatabaseSync): SqlPort {
  let depth = 0;
  const toParameter = (value: SqlValue) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value);
  return {
    all(query, ...bindings) {
      const rows = db.prepare(query).all(...bindings.map(toParameter));
      // The query beside the call is what fixes the rows' shape, as on the platform.
      return rows.map((row) => mapValues(row)) as never;
    },
    run(query, ...bindings) {
      db.prepare(query).run(...bindings.map(toParameter));
    },
    atomically(body) {
      const name = `s${depth++}`;
      db.exec(`SAVEPOINT ${name}`);
      try {
        const result = body();
        db.exec(`RELEASE ${name}`);
        return result;
      } catch (error) {
        db.exec(`ROLLBACK TO ${name}`);
        db.exec(`RELEASE ${name}`);
        throw error;
      } finally {
        depth--;
      }
    },
    // The platform bills rows; here nobody does.
    rowsWritten: () => 0,
  };
}

function mapValues(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      value instanceof Uint8Array ? value.slice().buffer : value,
    ]),
  );
}
