/** The files of one skill's folder on disk. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareCodeUnits } from '../../durable/skills/canonical.ts';

interface FoundFile {
  /** Relative to the skill's folder, `/` between parts. */
  path: string;
  bytes: number;
}

interface FoundFiles {
  files: FoundFile[];
  faults: { path: string; code: string; message: string }[];
}

/** All files under a folder, sorted. Hidden ones (`.DS_Store`, `.git`) are no part of a skill. */
export async function listFiles(root: string, under = ''): Promise<FoundFiles> {
  const found: FoundFiles = { files: [], faults: [] };
  for (const item of await readFolder(join(root, under))) {
    const path = under === '' ? item.name : `${under}/${item.name}`;
    if (item.isDirectory()) {
      const inner = await listFiles(root, path);
      found.files.push(...inner.files);
      found.faults.push(...inner.faults);
    } else if (item.isFile()) {
      found.files.push({ path, bytes: (await stat(join(root, path))).size });
    } else {
      const message = 'Neither a file nor a folder (a link could lead out of the skill); it is left out.';
      found.faults.push({ path, code: 'not_a_file', message });
    }
  }
  return found;
}

export async function readFolder(path: string) {
  const items = await readdir(path, { withFileTypes: true });
  return items.filter(({ name }) => !name.startsWith('.')).sort((a, b) => compareCodeUnits(a.name, b.name));
}
