/** Counts what the platform counts: rows written, as each statement's cursor says it (indexes included), and alarms. */
export interface RowCounts {
  rows: number;
  /** `setAlarm` and `deleteAlarm`: each is billed as a row. */
  alarms: number;
}

/** From now on; the object's own code keeps calling the storage as before. */
export function countRows(storage: DurableObjectStorage): () => RowCounts {
  const counts: RowCounts = { rows: 0, alarms: 0 };
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  const counted: SqlStorage['exec'] = (query, ...bindings) => {
    const cursor = exec<never>(query, ...bindings);
    counts.rows += cursor.rowsWritten;
    return cursor;
  };
  sql.exec = counted;
  const setAlarm = storage.setAlarm.bind(storage);
  storage.setAlarm = (...args) => {
    counts.alarms++;
    return setAlarm(...args);
  };
  const deleteAlarm = storage.deleteAlarm.bind(storage);
  storage.deleteAlarm = (...args) => {
    counts.alarms++;
    return deleteAlarm(...args);
  };
  return () => ({ ...counts });
}
