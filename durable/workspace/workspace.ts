/** The workspace over the session's database. Its contract is in `types.ts`. */
import { Buffer } from 'node:buffer';
import {
  directoryNotEmpty,
  fileChanged,
  fileNotFound,
  fileTooLarge,
  isADirectory,
  notADirectory,
  pathInvalid,
  workspaceFull,
} from '../errors.ts';
import type { SqlPort } from '../storage/index.ts';
import { compileGlob } from './glob.ts';
import {
  ancestorsOf,
  isUnder,
  MAX_PATH_BYTES,
  parentOf,
  relativeTo,
  resolvePath,
  showPath,
} from './paths.ts';
import { createFileRows, type FileRow, type FileRows, type PathRange, rangeUnder, toInfo } from './rows.ts';
import { MAX_ENTRIES, MAX_FILE_BYTES, MAX_WORKSPACE_BYTES } from './tables.ts';
import type { FileBatch, FileInfo, FilePage, ListOptions, Workspace, WriteOptions } from './types.ts';

/** Rows looked at in one question of a glob or a scan: bounds the memory of a workspace of any size. */
const CHUNK_ROWS = 2_000;
const FALLBACK_CWD = '/workspace';
/** Over every path that begins with what it follows. */
const LAST_CHARACTER = '\u{10ffff}';

/** The tables of the workspace and what every operation needs of them. */
interface Store {
  sql: SqlPort;
  rows: FileRows;
  cwd: string;
  now: () => number;
}

/** `cwd` as the session was created with it; a relative one starts at the root. */
export function createWorkspace(sql: SqlPort, cwd: string, now: () => number): Workspace {
  const store: Store = { sql, rows: createFileRows(sql), cwd: toCwd(cwd), now };
  const { rows } = store;
  const resolve = (path: string): string => resolvePath(store.cwd, path);
  return {
    cwd: store.cwd,
    resolve,
    stat(path) {
      const row = findRow(store, resolve(path));
      return row === null ? null : toInfo(row);
    },
    read(path) {
      const row = findFile(store, resolve(path));
      return { info: toInfo(row), bytes: rows.content(row) };
    },
    write: (path, bytes, options = {}) =>
      sql.atomically(() => writeFile(store, resolve(path), bytes, options)),
    makeDirectory: (path) => sql.atomically(() => makeDirectory(store, resolve(path))),
    remove: (path, { recursive = false } = {}) =>
      sql.atomically(() => removePath(store, resolve(path), recursive)),
    move: (from, to) => sql.atomically(() => movePath(store, resolve(from), resolve(to))),
    list: (path, options) => listFiles(store, resolve(path), options),
    glob: (pattern, root, limit, after) => globFiles(store, pattern, resolve(root), limit, after),
    scan: (root, maxBytes, after) => scanFiles(store, resolve(root), maxBytes, after),
    knowledge(path) {
      const { known, call } = findFile(store, resolve(path));
      return { version: known, call };
    },
    noteRead: (path, version) => rows.setKnown(resolve(path), version),
    totals() {
      const { files, bytes } = rows.totals();
      return { files, bytes };
    },
  };
}

/** A session that was created with what is no path opens all the same. */
function toCwd(written: string): string {
  try {
    return resolvePath('/', written);
  } catch {
    // `path_invalid`, and nothing else.
    return FALLBACK_CWD;
  }
}

/** The root has no row. The working directory gets its rows when they are first looked for. */
function findRow(store: Store, path: string): FileRow | null {
  if (path === '/') return toDirectoryRow('/', 0);
  const row = store.rows.find(path);
  if (row !== null || !holdsCwd(store, path)) return row;
  return store.sql.atomically(() => {
    addDirectories(store, store.cwd);
    return store.rows.find(path);
  });
}

function findFile(store: Store, path: string): FileRow {
  const row = findExisting(store, path);
  if (row.version === 0) throw isADirectory(`${showPath(path)} is a directory.`, { path });
  return row;
}

function findExisting(store: Store, path: string): FileRow {
  const row = findRow(store, path);
  if (row === null) throw fileNotFound(`There is no ${showPath(path)}.`, { path });
  return row;
}

function findDirectory(store: Store, path: string): void {
  const row = findExisting(store, path);
  if (row.version !== 0) throw notADirectory(`${showPath(path)} is a file, not a directory.`, { path });
}

/** Whether the path is the working directory or what it stands in. */
function holdsCwd({ cwd }: Store, path: string): boolean {
  return path === cwd || isUnder(cwd, path);
}

function toDirectoryRow(path: string, modified_at: number): FileRow {
  return { path, version: 0, bytes: 0, modified_at, known: 0, call: null };
}

function writeFile(store: Store, path: string, bytes: Uint8Array, options: WriteOptions): FileInfo {
  const { rows } = store;
  const { ifVersion, call = null } = options;
  const row = findRow(store, path);
  if (row?.version === 0) throw isADirectory(`${showPath(path)} is a directory.`, { path });
  const version = row?.version ?? 0;
  if (ifVersion !== undefined && ifVersion !== version) throw describeChange(path, ifVersion, version);
  const size = bytes.byteLength;
  if (size > MAX_FILE_BYTES) {
    const limit = { path, bytes: size, limit_bytes: MAX_FILE_BYTES };
    throw fileTooLarge(`${showPath(path)} would have ${size} bytes; ${MAX_FILE_BYTES} are allowed.`, limit);
  }
  if (row !== null && row.bytes === size && Buffer.compare(rows.content(row), bytes) === 0) {
    if (call !== null) rows.setKnown(path, version);
    return toInfo(row);
  }
  addDirectories(store, parentOf(path));
  const totals = rows.totals();
  const next = {
    ...totals,
    files: totals.files + (row === null ? 1 : 0),
    bytes: totals.bytes - (row?.bytes ?? 0) + size,
    version: totals.version + 1,
  };
  checkRoom(next.files + next.directories, next.bytes);
  if (version > 0) rows.dropContent(version);
  const known = call === null ? (row?.known ?? 0) : next.version;
  const written = { path, version: next.version, bytes: size, modified_at: store.now(), known, call };
  rows.put(written);
  rows.putContent(written.version, bytes);
  rows.setTotals(next);
  return toInfo(written);
}

function describeChange(path: string, expected: number, version: number) {
  const what =
    version === 0 ? 'is gone' : expected === 0 ? 'is there already' : 'has been changed since you read it';
  return fileChanged(`${showPath(path)} ${what}.`, { path, expected, version });
}

function checkRoom(entries: number, bytes: number): void {
  if (entries > MAX_ENTRIES) {
    const detail = `The workspace may have ${MAX_ENTRIES} files and directories.`;
    throw workspaceFull(detail, { entries, limit: MAX_ENTRIES });
  }
  if (bytes > MAX_WORKSPACE_BYTES) {
    const detail = `The workspace may have ${MAX_WORKSPACE_BYTES} bytes; it would have ${bytes}.`;
    throw workspaceFull(detail, { bytes, limit_bytes: MAX_WORKSPACE_BYTES });
  }
}

function makeDirectory(store: Store, path: string): FileInfo {
  addDirectories(store, path);
  return toInfo(findExisting(store, path));
}

/** The directory and what it stands in, as far as they are not there. */
function addDirectories({ rows, now }: Store, path: string): void {
  if (path === '/' || rows.find(path)?.version === 0) return;
  const missing = [...ancestorsOf(path), path].filter((directory) => {
    const row = rows.find(directory);
    if (row !== null && row.version > 0) {
      throw notADirectory(`${showPath(directory)} is a file, not a directory.`, { path: directory });
    }
    return row === null;
  });
  const totals = rows.totals();
  const directories = totals.directories + missing.length;
  checkRoom(totals.files + directories, totals.bytes);
  for (const directory of missing) rows.put(toDirectoryRow(directory, now()));
  rows.setTotals({ ...totals, directories });
}

function removePath(store: Store, path: string, recursive: boolean): number {
  refuseCwd(store, path);
  const row = findExisting(store, path);
  const inside = row.version === 0 ? rangeUnder(path) : null;
  if (inside !== null && !recursive && store.rows.select(inside, 'all', 1).length > 0) {
    throw directoryNotEmpty(`${showPath(path)} is not empty.`, { path });
  }
  const gone = inside === null ? [] : selectAll(store, inside, 'all');
  gone.push(toInfo(row));
  dropAll(store, gone);
  return gone.filter(({ kind }) => kind === 'file').length;
}

function refuseCwd(store: Store, path: string): void {
  if (!holdsCwd(store, path)) return;
  throw pathInvalid(`${showPath(path)} holds the working directory ${showPath(store.cwd)}: it has to stay.`);
}

function dropAll({ rows }: Store, gone: readonly FileInfo[]): void {
  const totals = rows.totals();
  for (const { path, version, bytes } of gone) {
    rows.drop(path);
    if (version > 0) rows.dropContent(version);
    if (version > 0) totals.files--;
    else totals.directories--;
    totals.bytes -= bytes;
  }
  rows.setTotals(totals);
}

function movePath(store: Store, from: string, to: string): FileInfo {
  const { rows } = store;
  refuseCwd(store, from);
  const row = findExisting(store, from);
  if (from === to) return toInfo(row);
  if (isUnder(to, from)) throw pathInvalid(`${showPath(from)} cannot be moved into itself.`);
  const range = rangeUnder(from);
  if (row.version === 0 && Buffer.byteLength(to) + rows.longestTail(from, range) > MAX_PATH_BYTES) {
    throw pathInvalid(`A path under ${showPath(to)} would have over ${MAX_PATH_BYTES} bytes.`);
  }
  addDirectories(store, parentOf(to));
  makeWay(store, row, to);
  if (row.version === 0) rows.rename(from, to, range);
  else {
    rows.drop(from);
    rows.put({ ...row, path: to });
  }
  return toInfo({ ...row, path: to });
}

function makeWay(store: Store, coming: FileRow, to: string): void {
  const there = findRow(store, to);
  if (there === null) return;
  if (there.version > 0 && coming.version === 0)
    throw notADirectory(`${showPath(to)} is a file, not a directory.`, { path: to });
  if (there.version === 0 && coming.version > 0)
    throw isADirectory(`${showPath(to)} is a directory.`, { path: to });
  if (there.version === 0) {
    refuseCwd(store, to);
    if (store.rows.select(rangeUnder(to), 'all', 1).length > 0)
      throw directoryNotEmpty(`${showPath(to)} is not empty.`, { path: to });
  }
  dropAll(store, [toInfo(there)]);
}

function listFiles(store: Store, path: string, options: ListOptions): FilePage {
  const { recursive = false, prefix, limit, after = '' } = options;
  findDirectory(store, path);
  if (isUnder(store.cwd, path)) findRow(store, store.cwd);
  const range = narrow(rangeUnder(path, after), prefix);
  if (range === null) return { files: [], next: null };
  return toPage(store.rows.select(range, recursive ? 'all' : { childrenOf: path }, limit + 1), limit);
}

function narrow(range: PathRange, prefix: string | undefined): PathRange | null {
  if (prefix === undefined || range.low.startsWith(prefix)) return range;
  if (!prefix.startsWith(range.low)) return null;
  return { ...range, low: prefix, high: prefix + LAST_CHARACTER };
}

/** Of one item more than the page may have. */
function toPage(files: FileInfo[], limit: number): FilePage {
  const page = files.slice(0, limit);
  return { files: page, next: files.length > limit ? (page.at(-1)?.path ?? null) : null };
}

function globFiles(store: Store, pattern: string, root: string, limit: number, after = ''): FilePage {
  const matches = compileGlob(pattern);
  findDirectory(store, root);
  const found: FileInfo[] = [];
  for (const info of eachInfo(store, rangeUnder(root, after))) {
    if (!matches(relativeTo(info.path, root))) continue;
    found.push(info);
    if (found.length > limit) break;
  }
  return toPage(found, limit);
}

function* eachInfo({ rows }: Store, range: PathRange): Generator<FileInfo> {
  for (let after: string | null = range.after; after !== null; ) {
    const infos: FileInfo[] = rows.select({ ...range, after }, 'files', CHUNK_ROWS);
    yield* infos;
    after = infos.length < CHUNK_ROWS ? null : (infos.at(-1)?.path ?? null);
  }
}

function selectAll({ rows }: Store, range: PathRange, filter: 'all' | 'files'): FileInfo[] {
  return rows.select(range, filter, MAX_ENTRIES);
}

function scanFiles(store: Store, root: string, maxBytes: number, after = ''): FileBatch {
  const { rows } = store;
  const row = findExisting(store, root);
  if (row.version > 0) return { files: [{ info: toInfo(row), bytes: rows.content(row) }], next: null };
  const infos = rows.select(rangeUnder(root, after), 'files', CHUNK_ROWS);
  let bytes = 0;
  const taken = infos.filter((info, i) => {
    bytes += info.bytes;
    return i === 0 || bytes <= maxBytes;
  });
  const [first, last] = [taken[0]?.path, taken.at(-1)?.path];
  if (first === undefined || last === undefined) return { files: [], next: null };
  const contents = rows.contents(first, last);
  const files = taken.map((info) => ({ info, bytes: contents.get(info.path) ?? new Uint8Array() }));
  return { files, next: taken.length < infos.length || infos.length === CHUNK_ROWS ? last : null };
}
