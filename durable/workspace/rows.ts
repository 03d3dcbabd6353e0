/** The workspace's rows: what is asked of the three tables, without any rule about paths. */
import type { SqlPort } from '../storage/index.ts';
import type { FileInfo } from './types.ts';

/** SQLite rows hold at most 2 MB here; half of that leaves room, as for blobs. */
const PART_BYTES = 1_000_000;
/** Ids that a version has for its parts: more than the largest file needs. */
const PARTS = 32;

export type FileRow = {
  path: string;
  /** 0 for a directory. */
  version: number;
  bytes: number;
  modified_at: number;
  known: number;
  call: string | null;
};

export type Totals = {
  files: number;
  directories: number;
  bytes: number;
  version: number;
};

/** Paths from `low` on, over `after`, and before `high`. */
export interface PathRange {
  low: string;
  high: string;
  after: string;
}

type InfoRow = Pick<FileRow, 'path' | 'version' | 'bytes' | 'modified_at'>;
type Filter = 'all' | 'files' | { childrenOf: string };

export interface FileRows {
  find: (path: string) => FileRow | null;
  /** In the order of paths. */
  select: (range: PathRange, filter: Filter, limit: number) => FileInfo[];
  /** Content of the files from `first` to `last`, by path. */
  contents: (first: string, last: string) => Map<string, Uint8Array>;
  content: (row: FileRow) => Uint8Array;
  /** A new row, or the one of this path anew. */
  put: (row: FileRow) => void;
  putContent: (version: number, bytes: Uint8Array) => void;
  dropContent: (version: number) => void;
  drop: (path: string) => void;
  setKnown: (path: string, known: number) => void;
  /** Of a directory's row and all under it. */
  rename: (from: string, to: string, range: PathRange) => void;
  /** UTF-8 bytes of the longest path in a range, as seen from `from`; 0 where there is none. */
  longestTail: (from: string, range: PathRange) => number;
  totals: () => Totals;
  setTotals: (totals: Totals) => void;
}

export function createFileRows(sql: SqlPort): FileRows {
  return {
    find(path) {
      return sql.all<FileRow>('SELECT * FROM files WHERE path = ?', path)[0] ?? null;
    },
    select(range, filter, limit) {
      const [condition, ...bindings] = toCondition(filter);
      const rows = sql.all<InfoRow>(
        `SELECT path, version, bytes, modified_at FROM files
        WHERE path >= max(?, ?) AND path < ? AND path <> ? AND ${condition} ORDER BY path LIMIT ?`,
        range.low,
        range.after,
        range.high,
        range.after,
        ...bindings,
        limit,
      );
      return rows.map(toInfo);
    },
    contents: (first, last) => readContents(sql, first, last),
    content({ version, bytes }) {
      const parts = sql.all<{ bytes: ArrayBuffer }>(
        'SELECT bytes FROM file_parts WHERE id BETWEEN ? AND ? ORDER BY id',
        version * PARTS,
        version * PARTS + PARTS - 1,
      );
      return joinParts(
        parts.map((part) => part.bytes),
        bytes,
      );
    },
    put({ path, version, bytes, modified_at, known, call }) {
      sql.run(
        'INSERT OR REPLACE INTO files (path, version, bytes, modified_at, known, call) VALUES (?, ?, ?, ?, ?, ?)',
        path,
        version,
        bytes,
        modified_at,
        known,
        call,
      );
    },
    putContent(version, bytes) {
      for (let part = 0; part * PART_BYTES < bytes.byteLength; part++) {
        // A copy in memory of its own: the bytes may be a view of a larger buffer.
        const { buffer } = new Uint8Array(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
        sql.run('INSERT INTO file_parts (id, bytes) VALUES (?, ?)', version * PARTS + part, buffer);
      }
    },
    dropContent(version) {
      sql.run(
        'DELETE FROM file_parts WHERE id BETWEEN ? AND ?',
        version * PARTS,
        version * PARTS + PARTS - 1,
      );
    },
    drop(path) {
      sql.run('DELETE FROM files WHERE path = ?', path);
    },
    setKnown(path, known) {
      sql.run('UPDATE files SET known = ? WHERE path = ? AND known <> ?', known, path, known);
    },
    rename(from, to, { low, high }) {
      // SQLite counts characters, so it is asked for the length of the part that goes.
      sql.run(
        'UPDATE files SET path = ? || substr(path, length(?) + 1) WHERE path = ? OR (path >= ? AND path < ?)',
        to,
        from,
        from,
        low,
        high,
      );
    },
    longestTail(from, { low, high }) {
      const [row] = sql.all<{ longest: number | null }>(
        `SELECT max(length(CAST(substr(path, length(?) + 1) AS BLOB))) AS longest FROM files
        WHERE path >= ? AND path < ?`,
        from,
        low,
        high,
      );
      return row?.longest ?? 0;
    },
    totals() {
      const [row] = sql.all<Totals>('SELECT files, directories, bytes, version FROM file_totals');
      if (row === undefined) throw new Error('the row of the file totals is missing');
      return row;
    },
    setTotals({ files, directories, bytes, version }) {
      sql.run(
        'UPDATE file_totals SET files = ?, directories = ?, bytes = ?, version = ?',
        files,
        directories,
        bytes,
        version,
      );
    },
  };
}

/** All under a directory, whatever `after`. `0` is the character that follows the slash. */
export function rangeUnder(directory: string, after = ''): PathRange {
  return directory === '/'
    ? { low: '/', high: '0', after }
    : { low: `${directory}/`, high: `${directory}0`, after };
}

export function toInfo({ path, version, bytes, modified_at }: InfoRow): FileInfo {
  return { path, kind: version === 0 ? 'directory' : 'file', bytes, version, modified_at };
}

function toCondition(filter: Filter): [string, ...string[]] {
  if (filter === 'all') return ['1'];
  if (filter === 'files') return ['version > 0'];
  const { childrenOf } = filter;
  return ["instr(substr(path, length(?) + 1), '/') = 0", childrenOf === '/' ? '/' : `${childrenOf}/`];
}

function readContents(sql: SqlPort, first: string, last: string): Map<string, Uint8Array> {
  const rows = sql.all<{ path: string; size: number; part: ArrayBuffer | null }>(
    `SELECT f.path AS path, f.bytes AS size, p.bytes AS part FROM files f
    LEFT JOIN file_parts p ON p.id BETWEEN f.version * ${PARTS} AND f.version * ${PARTS} + ${PARTS - 1}
    WHERE f.path BETWEEN ? AND ? AND f.version > 0 ORDER BY f.path, p.id`,
    first,
    last,
  );
  const parts = new Map<string, { size: number; parts: ArrayBuffer[] }>();
  for (const { path, size, part } of rows) {
    const file = parts.get(path) ?? { size, parts: [] };
    if (part !== null) file.parts.push(part);
    parts.set(path, file);
  }
  return new Map([...parts].map(([path, file]) => [path, joinParts(file.parts, file.size)]));
}

function joinParts(parts: readonly ArrayBuffer[], bytes: number): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return new Uint8Array(first);
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return whole;
}
