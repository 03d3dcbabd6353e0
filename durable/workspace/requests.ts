/** What the HTTP routes ask of a session's files. Values are plain data, so that they cross the object's boundary. */
import { z } from 'zod';
import { fileNotFound, type Outcome, PerchError, preconditionFailed } from '../errors.ts';
import type { Receipts } from '../inbox/index.ts';
import type { IdempotencyClaim } from '../rpc.ts';
import { type ArchiveFile, unpackArchive } from './archive.ts';
import { showPath } from './paths.ts';
import type { FileInfo, Workspace } from './types.ts';

export const fileView = z.object({
  path: z.string().describe('Absolute'),
  kind: z.enum(['file', 'directory']),
  bytes: z.int(),
  version: z.int().describe('Changes with the content; 0 for a directory'),
  modified_at: z.int().describe('Milliseconds since the epoch'),
});
export const fileListing = z.object({
  data: z.array(fileView).describe('Sorted by path, by code point'),
  next: z.string().nullable().describe('The `after` of the next page; null on the last'),
});
export type FileListing = z.infer<typeof fileListing>;

export const importReport = z.object({
  directory: z.string().describe('Where the archive was unpacked'),
  files: z.int(),
  bytes: z.int(),
  replaced: z.int().describe('Files that were there already'),
});
export type ImportReport = z.infer<typeof importReport>;

/** Of a request: versions that the file must have, or must not. `any` is every file that exists. */
export interface VersionCondition {
  match: number[] | 'any' | null;
  noneMatch: number[] | 'any' | null;
}

/** The part of a session's RPC that is about its files. */
export interface FilesRpc {
  listFiles(input: { prefix: string; limit: number; after: string | null }): Promise<Outcome<FileListing>>;
  /** `bytes` is null where `noneMatch` holds the file's version: the caller has it. */
  getFile(input: { path: string; condition: VersionCondition }): Promise<Outcome<FileContent>>;
  putFile(input: {
    path: string;
    bytes: Uint8Array;
    condition: VersionCondition;
  }): Promise<Outcome<{ file: FileInfo; isNew: boolean }>>;
  deleteFile(input: {
    path: string;
    recursive: boolean;
    condition: VersionCondition;
  }): Promise<Outcome<{ files: number }>>;
  importFiles(input: ImportFiles): Promise<Outcome<ImportReport>>;
}

export interface FileContent {
  file: FileInfo;
  bytes: Uint8Array | null;
}

export interface ImportFiles {
  directory: string;
  bytes: Uint8Array;
  idempotency: IdempotencyClaim | null;
}

export function listFiles(
  workspace: Workspace,
  { prefix, limit, after }: { prefix: string; limit: number; after: string | null },
): FileListing {
  const options = { recursive: true, prefix, limit, ...(after !== null && { after }) };
  const { files, next } = workspace.list('/', options);
  return { data: files, next };
}

/** Throws `file_not_found`, `is_a_directory`, `precondition_failed`. */
export function getFile(
  workspace: Workspace,
  { path, condition }: { path: string; condition: VersionCondition },
): FileContent {
  const { info, bytes } = workspace.read(path);
  if (condition.match !== null && !holds(condition.match, info)) throw refuseVersion(info.path);
  const isKnown = condition.noneMatch !== null && holds(condition.noneMatch, info);
  return { file: info, bytes: isKnown ? null : bytes };
}

/** Throws `precondition_failed`, and what `Workspace.write` does. */
export function putFile(
  workspace: Workspace,
  { path, bytes, condition }: { path: string; bytes: Uint8Array; condition: VersionCondition },
): { file: FileInfo; isNew: boolean } {
  const before = workspace.stat(path);
  checkCondition(workspace.resolve(path), before, condition);
  return { file: workspace.write(path, bytes), isNew: before === null };
}

/** Throws `file_not_found`, `precondition_failed`, and what `Workspace.remove` does. */
export function deleteFile(
  workspace: Workspace,
  { path, recursive, condition }: { path: string; recursive: boolean; condition: VersionCondition },
): { files: number } {
  const before = workspace.stat(path);
  if (before === null) throw fileNotFound(`There is no ${showPath(workspace.resolve(path))}.`);
  checkCondition(before.path, before, condition);
  return { files: workspace.remove(path, { recursive }) };
}

export interface ImportPorts {
  workspace: Workspace;
  receipts: Receipts;
  /** One atomic block of writes. */
  commit: <T>(write: () => T) => T;
}

/** All of the archive's files in one commit, or none. Throws `archive_invalid`, and what writing throws. */
export async function importFiles(ports: ImportPorts, input: ImportFiles): Promise<ImportReport> {
  const { workspace, receipts, commit } = ports;
  const { directory, bytes, idempotency } = input;
  workspace.resolve(directory);
  const first = receipts.find(idempotency, importReport);
  if (first !== null) return first;
  const files = await unpackArchive(bytes);
  return commit(() => {
    // The same request may have come again while this one unpacked.
    const other = receipts.find(idempotency, importReport);
    if (other !== null) return other;
    const report = writeFiles(workspace, directory, files);
    receipts.keep(idempotency, report);
    return report;
  });
}

function writeFiles(workspace: Workspace, directory: string, files: readonly ArchiveFile[]): ImportReport {
  const root = workspace.makeDirectory(directory).path;
  const report: ImportReport = { directory: root, files: 0, bytes: 0, replaced: 0 };
  for (const { path, bytes } of files) {
    const target = `${root}/${path}`;
    try {
      if (bytes === null) workspace.makeDirectory(target);
      else {
        if (workspace.stat(target) !== null) report.replaced++;
        workspace.write(target, bytes);
        report.files++;
        report.bytes += bytes.byteLength;
      }
    } catch (error) {
      if (!(error instanceof PerchError)) throw error;
      const { data } = error;
      throw new PerchError({ ...data, facts: { ...data.facts, entry: path } });
    }
  }
  return report;
}

function checkCondition(path: string, before: FileInfo | null, { match, noneMatch }: VersionCondition): void {
  const isMet =
    (match === null || (before !== null && holds(match, before))) &&
    (noneMatch === null || before === null || !holds(noneMatch, before));
  if (!isMet) throw refuseVersion(path);
}

function holds(versions: number[] | 'any', { version }: FileInfo): boolean {
  return versions === 'any' || versions.includes(version);
}

function refuseVersion(path: string): PerchError {
  return preconditionFailed(`${showPath(path)} is not as If-Match or If-None-Match asks.`);
}
