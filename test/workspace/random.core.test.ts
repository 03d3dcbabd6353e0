/** Random work on a workspace, beside a plain model of it, and random arguments to every file tool. */
import { describe, expect, it } from 'vitest';
import { PerchError } from '../../durable/errors.ts';
import { chooseSeed, createRandom } from '../support/random.ts';
import { callOver } from '../tools/files-context.ts';
import { bytesOf, openLocal, openWorkspace, textOf } from './local.ts';

const OPERATIONS = 6_000;
const CALLS = 5_000;

describe('a workspace', () => {
  it('is what a plain map of paths would be, after thousands of operations', { timeout: 60_000 }, () => {
    const seed = chooseSeed();
    const random = createRandom(seed);
    const { workspace, sql } = openLocal('/w');
    const files = new Map<string, string>();
    const folders = new Set(['/w']);
    const names = ['a', 'b', 'a.b', 'ü', '.c'];
    const somePath = (): string =>
      `/w/${Array.from({ length: 1 + random.below(3) }, () => random.pick(names)).join('/')}`;
    const parentsOf = (path: string): string[] =>
      [...path.matchAll(/\//g)].slice(1).map(({ index }) => path.slice(0, index));
    const under = (path: string) =>
      [...files.keys(), ...folders].filter((other) => other.startsWith(`${path}/`));
    const isBlocked = (path: string): boolean => parentsOf(path).some((parent) => files.has(parent));
    const refused = new Set<string>();
    const attempt = (run: () => void, isFine: boolean, label: string): boolean => {
      try {
        run();
      } catch (error) {
        if (!(error instanceof PerchError)) throw error;
        refused.add(error.data.code);
        if (isFine) expect.fail(`seed ${seed}: ${label} was refused: ${error.data.detail}`);
        return false;
      }
      if (!isFine) expect.fail(`seed ${seed}: ${label} was not refused`);
      return true;
    };
    for (let n = 0; n < OPERATIONS; n++) {
      const path = somePath();
      const kind = random.below(10);
      if (kind < 5) {
        const text = 'x'.repeat(random.below(5)) + n;
        const isFine = !isBlocked(path) && !folders.has(path);
        if (attempt(() => workspace.write(path, bytesOf(text)), isFine, `write ${path}`)) {
          files.set(path, text);
          for (const parent of parentsOf(path)) folders.add(parent);
        }
      } else if (kind < 6) {
        const isFine = !isBlocked(path) && !files.has(path);
        if (attempt(() => workspace.makeDirectory(path), isFine, `mkdir ${path}`)) {
          for (const folder of [...parentsOf(path), path]) folders.add(folder);
        }
      } else if (kind < 8) {
        const recursive = random.below(2) === 0;
        const isFine = files.has(path) || (folders.has(path) && (recursive || under(path).length === 0));
        if (attempt(() => workspace.remove(path, { recursive }), isFine, `remove ${path}`)) {
          for (const gone of [path, ...under(path)]) {
            files.delete(gone);
            folders.delete(gone);
          }
        }
      } else {
        const to = somePath();
        const isFolder = folders.has(path);
        const fits = isFolder
          ? !files.has(to) && under(to).length === 0 && !to.startsWith(`${path}/`)
          : !folders.has(to);
        const isFine =
          path === to ? isFolder || files.has(path) : (isFolder || files.has(path)) && fits && !isBlocked(to);
        if (attempt(() => workspace.move(path, to), isFine, `move ${path} ${to}`) && path !== to) {
          for (const from of [path, ...under(path)]) {
            const target = to + from.slice(path.length);
            const text = files.get(from);
            files.delete(from);
            if (folders.delete(from)) folders.add(target);
            if (text !== undefined) files.set(target, text);
          }
          for (const parent of parentsOf(to)) folders.add(parent);
        }
      }
      if (n % 200 === 199) {
        const all = workspace.list('/', { limit: 10_000, recursive: true }).files.map((file) => file.path);
        expect(new Set(all), `seed ${seed}`).toEqual(new Set([...files.keys(), ...folders]));
        for (const [known, text] of files) expect(textOf(workspace.read(known).bytes)).toBe(text);
        const bytes = [...files.values()].reduce((sum, text) => sum + text.length, 0);
        expect(workspace.totals(), `seed ${seed}`).toEqual({ files: files.size, bytes });
        const [counts] = sql.all<{ directories: number }>('SELECT directories FROM file_totals');
        expect(counts?.directories, `seed ${seed}`).toBe(folders.size);
        expect(sql.all('SELECT id FROM file_parts'), `seed ${seed}`).toHaveLength(files.size);
      }
    }
    expect(refused.size).toBeGreaterThanOrEqual(4);
  });
});

describe('the file tools', () => {
  it('answer any arguments with a result or a known error', { timeout: 60_000 }, async () => {
    const seed = chooseSeed();
    const random = createRandom(seed);
    const workspace = openWorkspace();
    const call = callOver(workspace);
    const texts = [
      '',
      'a',
      'a\nb',
      '\0',
      '\ud800',
      '../..',
      '/',
      '**',
      '{a,b}',
      '(a+)+$',
      '[',
      '\\',
      '$&',
      '.',
      'x'.repeat(5_000),
      '🙂',
      'a\r\n',
    ];
    const values = [
      null,
      true,
      0,
      -1,
      1,
      1.5,
      2_000,
      Number.MAX_SAFE_INTEGER,
      [],
      {},
      ['a'],
      ...texts,
      ...texts,
    ];
    const keys = [
      'path',
      'content',
      'old',
      'new',
      'all',
      'pattern',
      'glob',
      'literal',
      'ignore_case',
      'context',
      'limit',
      'offset',
      'after',
      'recursive',
      'overwrite',
      '__proto__',
    ];
    const outcomes = new Map<string, number>();
    for (let n = 0; n < CALLS; n++) {
      const tool = random.pick(['read', 'write', 'edit', 'list', 'glob', 'grep']);
      // Texts where texts belong, mostly, so that many calls get past the schema.
      const input: Record<string, unknown> = {
        path: random.pick(texts),
        pattern: random.pick(texts),
        content: random.pick(texts),
        old: random.pick(texts),
        new: random.pick(texts),
      };
      for (const key of Object.keys(input)) if (!takes(tool, key)) delete input[key];
      if (random.below(3) === 0) input[random.pick(keys)] = random.pick(values);
      const { error, text } = await call(tool, input).catch((reason: unknown) => {
        throw new Error(`seed ${seed}: ${tool} ${JSON.stringify(input)}`, { cause: reason });
      });
      if (Buffer.byteLength(text) > 32_768)
        expect.fail(`seed ${seed}: ${tool} ${JSON.stringify(input)} is too long`);
      outcomes.set(error ?? 'ok', (outcomes.get(error ?? 'ok') ?? 0) + 1);
    }
    expect(outcomes.get('ok')).toBeGreaterThan(200);
    expect(outcomes.get('invalid_arguments')).toBeGreaterThan(200);
    expect(outcomes.get('path_invalid')).toBeGreaterThan(200);
  });
});

function takes(tool: string, key: string): boolean {
  const taken: Record<string, string[]> = {
    read: ['path'],
    write: ['path', 'content'],
    edit: ['path', 'old', 'new'],
    list: ['path'],
    glob: ['path', 'pattern'],
    grep: ['path', 'pattern'],
  };
  return taken[tool]?.includes(key) === true;
}
