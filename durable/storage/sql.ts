/**
 * The SQL port: all that the object's modules know of its database. Tests put a port of their own in front of it to
 * say that the disk is full.
 */
export type SqlValue = string | number | null | ArrayBuffer;

export interface SqlPort {
  /** Rows as plain objects; the caller names their shape. */
  all<Row extends Record<string, SqlValue>>(query: string, ...bindings: SqlValue[]): Row[];
  run(query: string, ...bindings: SqlValue[]): void;
  /** Runs `body` as one atomic block: when it throws, nothing that it wrote stays. */
  atomically<T>(body: () => T): T;
  /** Rows written since the object started, indexes included: what the platform bills. */
  rowsWritten(): number;
}

export function createSqlPort(storage: DurableObjectStorage): SqlPort {
  let written = 0;
  return {
    all(query, ...bindings) {
      const cursor = storage.sql.exec(query, ...bindings);
      const rows = cursor.toArray();
      written += cursor.rowsWritten;
      // The platform types columns as any value; the query beside the call is what fixes their shape.
      return rows as never;
    },
    run(query, ...bindings) {
      written += storage.sql.exec(query, ...bindings).rowsWritten;
    },
    atomically: (body) => storage.transactionSync(body),
    rowsWritten: () => written,
  };
}
