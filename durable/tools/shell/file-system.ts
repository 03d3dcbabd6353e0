/**
 * The workspace as the shell's file system. What the workspace does not keep is not there: links are refused, a change
 * of a mode or of a time changes nothing (every file can be read, written and run, and has the time of its last write).
 * Errors are in the words of the system calls, which the shell's commands know.
 */
import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import type { BufferEncoding, FileContent, FsStat, IFileSystem } from 'just-bash/browser';
import { type ErrorData, PerchError } from '../../errors.ts';
import type { FileInfo, Workspace } from '../../workspace/types.ts';
import { describeFailure } from '../describe-failure.ts';
import type { Brake } from './brake.ts';
import type { Devices } from './devices.ts';
import { MAX_READ_BYTES } from './limits.ts';

const MODE = 0o755;
/** A page of a listing. */
const PAGE = 2_000;

export interface ShellFiles {
  workspace: Workspace;
  devices: Devices;
  brake: Brake;
  /** Passed before each operation: lets others have their turn now and then, and throws once the run has to stop. */
  pass: () => Promise<void>;
  /** Hears what was refused, and why: many commands leave that out of their message, or say another reason. */
  onRefusal: (reason: string) => void;
}

type Encoding = { encoding?: BufferEncoding | null } | BufferEncoding | undefined;

export function createFileSystem(files: ShellFiles): IFileSystem {
  const { workspace, devices, pass } = files;
  const content = createContent(files);
  const tree = createTree(files);
  return {
    ...content,
    ...tree,
    resolvePath: (base, path) => posix.resolve(base, path),
    // Only a listing of a quoted pattern asks, which no file's name matches.
    getAllPaths: () => [],
    async exists(path) {
      await pass();
      return findQuietly(files, path) !== null;
    },
    async stat(path) {
      await pass();
      return statPath(files, path, 'stat');
    },
    async lstat(path) {
      await pass();
      return statPath(files, path, 'lstat');
    },
    async realpath(path) {
      await pass();
      statPath(files, path, 'realpath');
      return posix.resolve('/', path);
    },
    async chmod(path) {
      statPath(files, path, 'chmod');
    },
    async utimes(path) {
      statPath(files, path, 'utimes');
    },
    symlink: refuseLink,
    link: refuseLink,
    async readlink(path) {
      statPath({ workspace, devices }, path, 'readlink');
      throw new Error(`EINVAL: invalid argument, readlink '${path}'`);
    },
  };
}

function refuseLink(): Promise<never> {
  return Promise.reject(new Error('ENOTSUP: links are not kept here'));
}

type Content = Pick<
  IFileSystem,
  'readFile' | 'readFileBytes' | 'readFileBuffer' | 'writeFile' | 'appendFile'
>;

function createContent(files: ShellFiles): Content {
  const { workspace, devices, brake, pass } = files;
  const read = (path: string): Uint8Array => {
    if (!devices.owns(path)) {
      requireReadable(files, path);
      return translate(files, 'open', path, () => workspace.read(path).bytes);
    }
    const bytes = devices.read(path);
    if (bytes === null) throw missing('open', path);
    return bytes;
  };
  const write = (path: string, bytes: Uint8Array): void => {
    if (devices.owns(path)) devices.write(path, bytes);
    else translate(files, 'write', path, () => workspace.write(path, bytes));
  };
  /** The shell itself, unlike its commands, does not expect that a redirect fails: see the brake. */
  const writeOrEnd = (path: string, bytes: () => Uint8Array): void => {
    if (brake.running > 0) write(path, bytes());
    else if (brake.stop === null) {
      try {
        write(path, bytes());
      } catch (error) {
        brake.pull({ kind: 'refused', message: describeFailure(error) });
      }
    }
  };
  return {
    async readFileBuffer(path) {
      await pass();
      return read(path);
    },
    async readFileBytes(path) {
      await pass();
      // The shell's own way to a character a byte takes thirty times the memory; its type cannot be made from outside.
      return view(read(path)).toString('latin1') as never;
    },
    async readFile(path, options) {
      await pass();
      return view(read(path)).toString(readEncoding(options) ?? 'utf8');
    },
    async writeFile(path, data, options) {
      await pass();
      writeOrEnd(path, () => toBytes(data, readEncoding(options)));
    },
    async appendFile(path, data, options) {
      await pass();
      const added = toBytes(data, readEncoding(options));
      const there = findQuietly(files, path);
      if (there?.kind === 'file' && added.byteLength === 0) return;
      // A file that is too large to be read may grow all the same.
      const before = (): Uint8Array | null =>
        devices.owns(path) ? devices.read(path) : there?.kind === 'file' ? workspace.read(path).bytes : null;
      writeOrEnd(path, () => Buffer.concat([before() ?? new Uint8Array(), added]));
    },
  };
}

/** What is larger is for tools that take a file part by part. Copying and moving does not come this way. */
function requireReadable(files: ShellFiles, path: string): void {
  const bytes = findQuietly(files, path)?.bytes ?? 0;
  if (bytes <= MAX_READ_BYTES) return;
  const reason = `${posix.basename(path)} has ${bytes} bytes; the shell reads files of up to ${MAX_READ_BYTES}`;
  files.onRefusal(reason);
  throw new Error(`EFBIG: ${reason}`);
}

type Tree = Pick<IFileSystem, 'mkdir' | 'readdir' | 'readdirWithFileTypes' | 'rm' | 'cp' | 'mv'>;

function createTree(files: ShellFiles): Tree {
  const { workspace, devices, pass } = files;
  return {
    async mkdir(path, options) {
      await pass();
      makeDirectory(files, path, options?.recursive === true);
    },
    async readdir(path) {
      await pass();
      return listNames(files, path).map(({ name }) => name);
    },
    async readdirWithFileTypes(path) {
      await pass();
      return listNames(files, path).map(({ name, kind }) => ({
        name,
        isFile: kind === 'file',
        isDirectory: kind === 'directory',
        isSymbolicLink: false,
      }));
    },
    async rm(path, { recursive = false, force = false } = {}) {
      await pass();
      if (devices.owns(path)) devices.remove(path);
      else if (!force || findQuietly(files, path) !== null)
        translate(files, 'rm', path, () => workspace.remove(path, { recursive }));
    },
    async mv(source, target) {
      await pass();
      if (devices.owns(source) || devices.owns(target)) throw readOnly('rename', target);
      translate(files, 'rename', source, () => workspace.move(source, target));
    },
    cp: (source, target, options) => copy(files, source, target, options?.recursive === true),
  };
}

function makeDirectory(files: ShellFiles, path: string, recursive: boolean): void {
  const there = findQuietly(files, path);
  if (there !== null) {
    if (recursive && there.kind === 'directory') return;
    throw new Error(`EEXIST: file already exists, mkdir '${path}'`);
  }
  if (files.devices.owns(path)) throw readOnly('mkdir', path);
  if (!recursive && findQuietly(files, posix.dirname(path)) === null) throw missing('mkdir', path);
  translate(files, 'mkdir', path, () => files.workspace.makeDirectory(path));
}

/** File after file, so that a large tree holds nobody up. */
async function copy(files: ShellFiles, source: string, target: string, recursive: boolean): Promise<void> {
  const { workspace, devices, pass } = files;
  await pass();
  if (devices.owns(source) || devices.owns(target)) throw readOnly('copyfile', target);
  const { isDirectory } = statPath(files, source, 'copyfile');
  if (!isDirectory) {
    translate(files, 'copyfile', target, () => workspace.write(target, workspace.read(source).bytes));
    return;
  }
  if (!recursive) throw new Error(`EISDIR: illegal operation on a directory, copyfile '${source}'`);
  makeDirectory(files, target, true);
  for (const { name } of listNames(files, source)) {
    await copy(files, posix.join(source, name), posix.join(target, name), true);
  }
}

function listNames(files: ShellFiles, path: string): { name: string; kind: 'file' | 'directory' }[] {
  const { workspace, devices } = files;
  if (!statPath(files, path, 'scandir').isDirectory)
    throw new Error(`ENOTDIR: not a directory, scandir '${path}'`);
  if (devices.owns(path)) return devices.list(path).map((name) => ({ name, kind: 'file' }));
  const found: { name: string; kind: 'file' | 'directory' }[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page = translate(files, 'scandir', path, () =>
      workspace.list(path, { limit: PAGE, ...(after ? { after } : {}) }),
    );
    for (const info of page.files) found.push({ name: posix.basename(info.path), kind: info.kind });
    after = page.next;
  }
  return found;
}

type Found = Pick<FileInfo, 'kind' | 'bytes'> & { modified_at?: number };
type Places = Pick<ShellFiles, 'workspace' | 'devices'>;

/** Null where nothing is there, and where nothing can be: a path that is not valid. */
function findQuietly({ workspace, devices }: Places, path: string): Found | null {
  if (devices.owns(path)) return devices.stat(path);
  try {
    // Scripts take the directory of temporary files for granted.
    if (path === '/tmp') return workspace.makeDirectory(path);
    return workspace.stat(path);
  } catch (error) {
    if (error instanceof PerchError) return null;
    throw error;
  }
}

function statPath(places: Places, path: string, call: string): FsStat {
  const found = findQuietly(places, path);
  if (found === null) throw missing(call, path);
  const { kind, bytes, modified_at = 0 } = found;
  return {
    isFile: kind === 'file',
    isDirectory: kind === 'directory',
    isSymbolicLink: false,
    mode: MODE,
    size: bytes,
    mtime: new Date(modified_at),
    // Without links a path is its file's only name.
    identity: posix.resolve('/', path),
  };
}

function missing(call: string, path: string): Error {
  return new Error(`ENOENT: no such file or directory, ${call} '${path}'`);
}

function readOnly(call: string, path: string): Error {
  return new Error(`EROFS: read-only file system, ${call} '${path}'`);
}

/** What the shell's commands know by the beginning of a message. The others are told in the workspace's own words. */
const KNOWN: Readonly<Record<string, string>> = {
  file_not_found: 'ENOENT: no such file or directory',
  is_a_directory: 'EISDIR: illegal operation on a directory',
  not_a_directory: 'ENOTDIR: not a directory',
  directory_not_empty: 'ENOTEMPTY: directory not empty',
};

function translate<T>({ onRefusal }: ShellFiles, call: string, path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof PerchError)) throw error;
    const { code, detail }: ErrorData = error.data;
    const known = KNOWN[code];
    if (known !== undefined) throw new Error(`${known}, ${call} '${path}'`);
    onRefusal(detail);
    throw new Error(detail);
  }
}

function readEncoding(options: Encoding): BufferEncoding | undefined {
  return (typeof options === 'string' ? options : options?.encoding) ?? undefined;
}

/** Strings of `binary` hold a byte a character; one that holds more was meant as text. */
function toBytes(data: FileContent, encoding: BufferEncoding = 'utf8'): Uint8Array {
  if (typeof data !== 'string') return data;
  const isText = (encoding === 'binary' || encoding === 'latin1') && /[\u0100-\uffff]/.test(data);
  return Buffer.from(data, isText ? 'utf8' : encoding);
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
