/**
 * What a shell expects beside the workspace, and what is kept nowhere: `/dev/null`, the files of `<(…)` and `>(…)`, and
 * its commands as files of `/bin` and `/usr/bin`, where `which` and a path in front of a command look for them. They
 * hide what the workspace may have at these paths, and no listing of a directory above shows them.
 */

/** Bytes that the files of process substitutions hold together: what one pipe may hold, a few times. */
const MAX_BUFFERED_BYTES = 16_000_000;
const DESCRIPTOR = /^\/dev\/fd\/\d{1,4}$/;
const COMMAND = /^\/(?:usr\/)?bin\/([^/]+)$/;
const DIRECTORIES = new Set(['/dev', '/dev/fd', '/bin', '/usr/bin']);

export interface Devices {
  /** Whether the path is of these and not of the workspace, there or not. */
  owns: (path: string) => boolean;
  stat: (path: string) => { kind: 'file' | 'directory'; bytes: number } | null;
  /** Null where there is no such file. */
  read: (path: string) => Uint8Array | null;
  /** Throws in the words of the system call where the path takes no content. */
  write: (path: string, bytes: Uint8Array) => void;
  remove: (path: string) => void;
  /** Names in a directory, sorted. */
  list: (path: string) => string[];
}

export function createDevices(commands: readonly string[]): Devices {
  const known = new Set(commands);
  const descriptors = new Map<string, Uint8Array>();
  const hasCommand = (path: string): boolean => known.has(COMMAND.exec(path)?.[1] ?? '');
  const read = (path: string): Uint8Array | null => {
    if (path === '/dev/null' || hasCommand(path)) return new Uint8Array();
    return descriptors.get(path) ?? null;
  };
  return {
    owns: (path) =>
      [...DIRECTORIES].some((directory) => path === directory || path.startsWith(`${directory}/`)),
    stat(path) {
      if (DIRECTORIES.has(path)) return { kind: 'directory', bytes: 0 };
      const bytes = read(path);
      return bytes === null ? null : { kind: 'file', bytes: bytes.byteLength };
    },
    read,
    write(path, bytes) {
      if (path === '/dev/null') return;
      if (!DESCRIPTOR.test(path)) throw new Error(`EROFS: read-only file system, write '${path}'`);
      let held = bytes.byteLength;
      for (const [other, content] of descriptors) held += other === path ? 0 : content.byteLength;
      if (held > MAX_BUFFERED_BYTES) throw new Error(`ENOSPC: no space left on device, write '${path}'`);
      descriptors.set(path, bytes);
    },
    remove(path) {
      if (!descriptors.delete(path)) throw new Error(`EROFS: read-only file system, rm '${path}'`);
    },
    list(path) {
      if (path === '/dev') return ['fd', 'null'];
      if (path === '/dev/fd')
        return [...descriptors.keys()].map((name) => name.slice('/dev/fd/'.length)).sort();
      return [...known].sort();
    },
  };
}
