/**
 * An object's storage as the platform gives it, over a database in memory: writes without an await in between are one
 * atomic commit, the alarm is part of it, and what is not committed when the object dies was never there. A life that
 * has ended cannot write.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { Life } from './clock.ts';

/** Thrown into the code of a life that has ended, so that nothing of it goes on unnoticed. */
export class LifeEnded extends Error {
  constructor(object: string) {
    super(`the object ${object} of this life has ended`);
    this.name = 'LifeEnded';
  }
}

/** What may happen to a statement that writes, before it does. */
export type StatementFault = 'none' | 'full' | 'crash';

export interface Disk {
  readonly db: DatabaseSync;
  /** When the committed alarm is due; null where none is stored. */
  alarm: () => number | null;
  setCommittedAlarm: (at: number | null) => void;
  /** Whether something was written since the last commit. */
  isDirty: () => boolean;
  commit: () => void;
  rollback: () => void;
  /** Whether the newest rollback ended a loop that would not end by itself. */
  isEndless: () => boolean;
  /** Reads what is there now, whoever is alive. */
  read: (query: string, ...bindings: SQLInputValue[]) => Record<string, unknown>[];
  /** The storage that one life of the object gets. */
  openFor: (life: Life) => StorageOfLife;
}

export interface StorageOfLife {
  sql: { exec: (query: string, ...bindings: unknown[]) => Cursor; readonly databaseSize: number };
  transactionSync: <T>(body: () => T) => T;
  setAlarm: (at: number | Date) => Promise<void>;
  getAlarm: () => Promise<number | null>;
  deleteAlarm: () => Promise<void>;
  deleteAll: () => Promise<void>;
  sync: () => Promise<void>;
}

interface Cursor {
  toArray: () => Record<string, unknown>[];
  one: () => Record<string, unknown>;
  [Symbol.iterator]: () => Iterator<Record<string, unknown>>;
  rowsRead: number;
  rowsWritten: number;
}

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)/i;
/** Far more statements than one job needs: a loop that never awaits anything would go on for ever. */
const MOST_WRITES = 20_000;
/** SQLite's own words when the disk is full. */
const FULL = 'database or disk is full: SQLITE_FULL';

/** `onWrite` decides about each statement that writes; `onCrash` ends the life in the middle of its block. */
export function createDisk(onWrite: () => StatementFault, onCrash: () => void): Disk {
  const db = new DatabaseSync(':memory:');
  const statements = new Map<string, StatementSync>();
  let isOpen = false;
  let depth = 0;
  let alarm: number | null = null;
  let committed: number | null = null;
  let writes = 0;
  let isEndless = false;

  const prepare = (query: string): StatementSync => {
    const known = statements.get(query);
    if (known !== undefined) return known;
    const made = db.prepare(query);
    statements.set(query, made);
    return made;
  };
  const begin = (): void => {
    if (isOpen) return;
    db.exec('BEGIN');
    isOpen = true;
  };
  const openFor = (life: Life): StorageOfLife => {
    const check = (): void => {
      if (!life.alive) throw new LifeEnded(life.object);
    };
    const write = (): void => {
      check();
      const fault = writes++ > MOST_WRITES ? 'crash' : onWrite();
      if (fault === 'full') throw new Error(FULL);
      if (fault === 'crash') {
        onCrash();
        throw new LifeEnded(life.object);
      }
      begin();
    };
    return {
      sql: {
        exec(query, ...bindings) {
          const writes = WRITES.test(query);
          if (writes) write();
          else check();
          if (/^\s*(?:CREATE|ALTER|DROP)/i.test(query)) statements.clear();
          const rows = prepare(query)
            .all(...bindings.map(toInput))
            .map(toRow);
          return toCursor(rows, writes ? 1 : 0);
        },
        databaseSize: 0,
      },
      transactionSync(body) {
        check();
        begin();
        const name = `s${depth++}`;
        const before = alarm;
        db.exec(`SAVEPOINT ${name}`);
        try {
          const result = body();
          check();
          db.exec(`RELEASE ${name}`);
          return result;
        } catch (error) {
          // A crash in the middle has rolled all of it back.
          if (life.alive) {
            db.exec(`ROLLBACK TO ${name}`);
            db.exec(`RELEASE ${name}`);
            alarm = before;
          }
          throw error;
        } finally {
          depth--;
        }
      },
      async setAlarm(at) {
        check();
        begin();
        alarm = Number(at);
      },
      async getAlarm() {
        check();
        return alarm;
      },
      async deleteAlarm() {
        check();
        begin();
        alarm = null;
      },
      async deleteAll() {
        check();
        begin();
        statements.clear();
        for (const { name } of db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
          db.exec(`DROP TABLE ${String(name)}`);
        }
      },
      sync: () => Promise.resolve(),
    };
  };
  return {
    db,
    alarm: () => committed,
    setCommittedAlarm(at) {
      alarm = at;
      committed = at;
    },
    isDirty: () => isOpen,
    commit() {
      if (isOpen) db.exec('COMMIT');
      isOpen = false;
      writes = 0;
      committed = alarm;
    },
    rollback() {
      if (isOpen) db.exec('ROLLBACK');
      isOpen = false;
      isEndless = writes > MOST_WRITES;
      writes = 0;
      alarm = committed;
    },
    isEndless: () => isEndless,
    read: (query, ...bindings) => prepare(query).all(...bindings),
    openFor,
  };
}

function toInput(value: unknown): SQLInputValue {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`a value of type ${typeof value} is no SQL value`);
}

function toRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const [key, value] of Object.entries(row)) {
    if (value instanceof Uint8Array) row[key] = value.slice().buffer;
  }
  return row;
}

function toCursor(rows: Record<string, unknown>[], rowsWritten: number): Cursor {
  return {
    toArray: () => rows,
    one() {
      const [row] = rows;
      if (row === undefined || rows.length > 1)
        throw new Error(`one row is expected, ${rows.length} are there`);
      return row;
    },
    [Symbol.iterator]: () => rows[Symbol.iterator](),
    rowsRead: rows.length,
    rowsWritten,
  };
}
