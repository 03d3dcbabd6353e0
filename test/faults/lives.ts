/** What each life of a session object finds when it begins, seen before its own code runs. */

export interface Birth {
  /** The object's id. */
  object: string;
  /** What the object has to go on with by itself; null for nothing. */
  work: string | null;
  /** The stored alarm's time; `unknown` where the life ended before it could be told. */
  alarm: number | null | 'unknown';
  /** The platform itself ran the alarm, so that it is not stored while this life begins. */
  isOfAlarm: boolean;
  /** Rows that the constructor read, of which the open turn's events are not constant. */
  rowsRead: number;
  openTurnEvents: number;
  events: number;
}

let births: Birth[] | null = null;

/** From now on; returns the births as they come. */
export function observeBirths(): readonly Birth[] {
  births = [];
  return births;
}

export interface Life {
  built: () => void;
  alarmCame: () => void;
}

const UNOBSERVED: Life = { built: () => undefined, alarmCame: () => undefined };

/** To be called before the object's constructor runs. */
export function beginLife({ id, storage }: DurableObjectState): Life {
  if (births === null) return UNOBSERVED;
  const birth: Birth = {
    object: id.toString(),
    ...readWork(storage.sql),
    alarm: 'unknown',
    isOfAlarm: false,
    rowsRead: 0,
  };
  births.push(birth);
  // Asked before the object can arm another one.
  storage.getAlarm().then(
    (at) => {
      birth.alarm = at;
    },
    () => 'the life ended first',
  );
  const end = countRowsRead(storage.sql);
  return {
    built() {
      birth.rowsRead = end();
    },
    alarmCame() {
      birth.isOfAlarm = true;
    },
  };
}

function readWork(sql: SqlStorage): Pick<Birth, 'work' | 'openTurnEvents' | 'events'> {
  const work = findWork(sql);
  if (!listTables(sql).includes('events')) return { work, openTurnEvents: 0, events: 0 };
  const open = one(sql, 'SELECT open_turn_seq AS n FROM state');
  const events = one(sql, 'SELECT max(seq) AS n FROM events');
  return { work, openTurnEvents: open > 0 ? events - open + 1 : 0, events };
}

/** What a session's rows say is left for it to do by itself; null where that is nothing. */
export function findWork(sql: SqlStorage): string | null {
  const tables = listTables(sql);
  if (tables.length === 0) return null;
  if (!tables.includes('session') || one(sql, 'SELECT count(*) AS n FROM session') === 0) {
    return 'rows of no session';
  }
  if (one(sql, 'SELECT erasing AS n FROM session') > 0) return 'an erasing';
  if (one(sql, 'SELECT open_turn_seq AS n FROM state') > 0) return 'an open turn';
  const waking = one(sql, 'SELECT count(*) AS n FROM inbox WHERE wakes = 1');
  return waking > 0 ? `${waking} waiting` : null;
}

export function listTables(sql: SqlStorage): string[] {
  return sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .toArray()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('sqlite_') && !name.startsWith('_cf'));
}

function one(sql: SqlStorage, query: string): number {
  return Number(sql.exec<{ n: number | null }>(query).toArray()[0]?.n ?? 0);
}

/** Counts the rows that statements read until the returned function is called. */
function countRowsRead(sql: SqlStorage): () => number {
  const exec = sql.exec.bind(sql);
  const cursors: { rowsRead: number }[] = [];
  const counted: SqlStorage['exec'] = (query, ...bindings) => {
    const cursor = exec<never>(query, ...bindings);
    cursors.push(cursor);
    return cursor;
  };
  sql.exec = counted;
  return () => {
    sql.exec = exec;
    return cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
  };
}
