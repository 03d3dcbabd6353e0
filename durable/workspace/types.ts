/**
 * A session's files, in its own database: one store under the file tools, the shell and the HTTP routes. Everything is
 * synchronous, because the database is; a write is part of whatever commit it stands in.
 */

export interface FileInfo {
  /** Absolute and normalised: `/workspace/src/app.ts`. */
  path: string;
  kind: 'file' | 'directory';
  /** Of a file's content; 0 for a directory. */
  bytes: number;
  /**
   * Names the content: it grows with each write, over all files of the session, so that a file that was removed and
   * made again never has a version that it had before. A move keeps it. 0 for a directory.
   */
  version: number;
  /** Milliseconds since the epoch. */
  modified_at: number;
}

export interface WriteOptions {
  /** Refuses with `file_changed` where the file has another version by now; 0 where it must not exist. */
  ifVersion?: number;
  /** The model's call that writes: the model then knows the content that it wrote. */
  call?: string;
}

/** What the session's model knows of a file. */
export interface FileKnowledge {
  /** The version that it last read or wrote; 0 where it never did. */
  version: number;
  /** Its call that wrote the present content; null where something else did. */
  call: string | null;
}

export interface ListOptions {
  recursive?: boolean;
  /** Only absolute paths that begin with this. */
  prefix?: string;
  /** At most; the next page goes on after the last path of this one. */
  limit: number;
  after?: string;
}

export interface FilePage {
  files: FileInfo[];
  /** The path to go on after; null on the last page. */
  next: string | null;
}

/** Content of many files at once, for those who look through all of them. */
export interface FileBatch {
  files: { info: FileInfo; bytes: Uint8Array }[];
  /** The path to go on after; null where this was the last batch. */
  next: string | null;
}

/** Paths are absolute or relative to `cwd`. Every method throws `path_invalid` for one that is neither. */
export interface Workspace {
  /** The session's working directory, absolute. It and what it stands in are always there. */
  cwd: string;
  resolve: (path: string) => string;
  stat: (path: string) => FileInfo | null;
  /** Throws `file_not_found`, `is_a_directory`. */
  read: (path: string) => { info: FileInfo; bytes: Uint8Array };
  /**
   * Makes missing parents. Equal content is left as it is, version and all. Throws `file_changed`, `file_too_large`,
   * `workspace_full`, `is_a_directory`, `not_a_directory`.
   */
  write: (path: string, bytes: Uint8Array, options?: WriteOptions) => FileInfo;
  /** Makes missing parents; one that is there stays. Throws `not_a_directory`, `workspace_full`. */
  makeDirectory: (path: string) => FileInfo;
  /**
   * Throws `file_not_found`, `directory_not_empty` unless recursive, and `path_invalid` for the root, the working
   * directory and what that stands in. Returns how many files went.
   */
  remove: (path: string, options?: { recursive?: boolean }) => number;
  /**
   * Throws `file_not_found`; a file at `to` is replaced, a directory there refused (`is_a_directory`) unless it is
   * empty and a directory comes. A directory takes with it what is in it.
   */
  move: (from: string, to: string) => FileInfo;
  /** Sorted by path, by code point. Throws `file_not_found`, `not_a_directory`. */
  list: (path: string, options: ListOptions) => FilePage;
  /**
   * Files whose path under `root` matches; `*`, `**`, `?`, `{a,b}`, `[…]`. A name that begins with a dot is matched
   * only by a pattern that says the dot. Sorted. Throws `invalid_arguments`.
   */
  glob: (pattern: string, root: string, limit: number, after?: string) => FilePage;
  /**
   * The files under a directory, or the one file, with their content: whole files until `maxBytes` are reached, at
   * least one. Sorted.
   */
  scan: (root: string, maxBytes: number, after?: string) => FileBatch;
  /** Throws `file_not_found`. */
  knowledge: (path: string) => FileKnowledge;
  /** The model has read this version. A file that is gone meanwhile is passed over. */
  noteRead: (path: string, version: number) => void;
  /** Of the whole session. */
  totals: () => { files: number; bytes: number };
}
