/**
 * The workspace's tables and its limits.
 *
 * | table       | holds                                                  | rows written                       |
 * |-------------|--------------------------------------------------------|------------------------------------|
 * | files       | a file or a directory by its absolute path             | one a write                        |
 * | file_parts  | a file's content, in parts of at most 1 MB             | one a part; none for an empty file |
 * | file_totals | counts and the newest version, one row                 | one a write                        |
 */

/** One migration: an entry for the end of the list in `storage/schema.ts`. */
export const WORKSPACE_TABLES: readonly string[] = [
  // `version` names the content, and is the key of its parts. `known` is the version that the model last read or wrote,
  // `call` its call that wrote the present one.
  `CREATE TABLE files (
    path TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    known INTEGER NOT NULL,
    call TEXT
  ) WITHOUT ROWID`,
  // `id` is version × PARTS + part: one row written a part, and a table that keeps large rows well.
  'CREATE TABLE file_parts (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)',
  `CREATE TABLE file_totals (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    files INTEGER NOT NULL,
    directories INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    version INTEGER NOT NULL
  )`,
  'INSERT INTO file_totals (one, files, directories, bytes, version) VALUES (1, 0, 0, 0, 0)',
];

/** A file is handed over whole, in memory and across the object's boundary, which takes 32 MiB. */
export const MAX_FILE_BYTES = 16_000_000;
/** A fortieth of what an object may store: the log and its blobs need the rest. */
export const MAX_WORKSPACE_BYTES = 256_000_000;
/** Files and directories: listing all of them stays a matter of some hundred milliseconds. */
export const MAX_ENTRIES = 50_000;
