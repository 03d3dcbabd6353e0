/** Errors about a path that is not there, with the paths that may have been meant. */
import { fileNotFound, isADirectory, PerchError } from '../../errors.ts';
import type { Workspace } from '../../workspace/types.ts';

const SUGGESTIONS = 3;
const NEIGHBOURS = 500;

/** Runs `use`; its `file_not_found` and `is_a_directory` come out with what to do next. */
export function describeMissing<T>(workspace: Workspace, path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof PerchError)) throw error;
    const { code, detail, facts } = error.data;
    if (code === 'is_a_directory') throw isADirectory(`${detail} Use list to see what is in it.`, facts);
    if (code !== 'file_not_found') throw error;
    const near = suggestPaths(workspace, workspace.resolve(path));
    const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
    throw fileNotFound(`${detail}${hint}`, facts);
  }
}

/** Names beside it that differ in case or ending, and files of the same name elsewhere. */
function suggestPaths(workspace: Workspace, path: string): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, path.lastIndexOf('/')) || '/';
  const stem = stemOf(name);
  const beside =
    workspace.stat(folder)?.kind === 'directory'
      ? workspace
          .list(folder, { limit: NEIGHBOURS })
          .files.filter((file) => stemOf(nameIn(file.path)) === stem)
      : [];
  const elsewhere = workspace.glob(`**/${escapeGlob(name)}`, workspace.cwd, SUGGESTIONS).files;
  return [...new Set([...beside, ...elsewhere].map((file) => file.path))].slice(0, SUGGESTIONS);
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** In lower case, without what follows the first dot after its start. */
function stemOf(name: string): string {
  const dot = name.indexOf('.', 1);
  return (dot < 0 ? name : name.slice(0, dot)).toLowerCase();
}

function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]{},]/g, '\\$&');
}
