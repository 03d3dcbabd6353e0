export { resolvePath } from './paths.ts';
export { spillResult } from './spill.ts';
export { MAX_FILE_BYTES, WORKSPACE_TABLES } from './tables.ts';
export type {
  FileBatch,
  FileInfo,
  FileKnowledge,
  FilePage,
  ListOptions,
  Workspace,
  WriteOptions,
} from './types.ts';
export { createWorkspace } from './workspace.ts';
