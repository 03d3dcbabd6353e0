/** Skills by others, through check, push, KV as wrangler keeps it, source, gesture and tool. Skipped where they are absent. */
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getPlatformProxy } from 'wrangler';
import type { SkillKv } from '../../durable/skills/kv.ts';
import { skillLane } from '../../durable/skills/lanes.ts';
import { resourceTool } from '../../durable/skills/resource-tool.ts';
import { createSkillSource } from '../../durable/skills/source.ts';
import { skillTool } from '../../durable/skills/tool.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import { type Bundle, bundleSkills } from '../../scripts/skills/bundle.ts';
import { publishLocal } from '../../scripts/skills/publish.ts';
import { NO_WORKSPACE } from '../support/no-workspace.ts';
import { makeContext, makeMessage } from './sample-skills.ts';

const CORPUS = '../shared/corpus/skills';
/** Its description has 1,068 characters: over the specification's limit, within ours. */
const LONG = 'claude-api';

async function listPaths(dir: string): Promise<string[]> {
  const items = await readdir(dir, { recursive: true, withFileTypes: true });
  return items
    .filter((item) => item.isFile())
    .map((item) => join(item.parentPath, item.name).slice(dir.length + 1))
    .sort();
}

describe.skipIf(!existsSync(CORPUS))('skills by others', { timeout: 60_000 }, () => {
  let state = '';
  let folder = '';
  let bundle: Bundle;
  let view: SkillView;
  let close = (): Promise<void> => Promise.resolve();

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'perch-corpus-'));
    await cp(CORPUS, join(state, 'skills'), { recursive: true });
    // They are all text; a picture would be any bytes.
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 31 + (index >> 8)) % 256);
    await writeFile(join(state, 'skills/brand-guidelines/logo.png'), bytes);
    folder = join(state, 'skills');
    bundle = await bundleSkills(folder);
    await publishLocal(bundle, state);
    const configPath = join(state, 'wrangler.json');
    const binding = { binding: 'SKILLS', id: 'perch-skills' };
    await writeFile(configPath, JSON.stringify({ name: 'reader', kv_namespaces: [binding] }));
    const proxy = await getPlatformProxy<{ SKILLS: SkillKv }>({
      configPath,
      envFiles: [],
      persist: { path: join(state, 'v3') },
      remoteBindings: false,
    });
    close = proxy.dispose;
    const source = createSkillSource({ kv: proxy.env.SKILLS, freshMs: 1000, now: () => 0 });
    view = await source.view({ tenant: 't', session: null });
  }, 60_000);
  afterAll(async () => {
    await close();
    await rm(state, { recursive: true, force: true });
  });

  it('are all published, one of them with a warning that the strict mode makes an error', async () => {
    const folders = (await readdir(folder)).sort();
    expect(bundle.skills.map(({ name }) => name)).toEqual(folders);
    expect(bundle.diagnostics).toMatchObject([
      { file: `${LONG}/SKILL.md`, line: 3, severity: 'warning', code: 'description_over_specification' },
    ]);
    const strict = await bundleSkills(folder, { mode: 'strict' });
    expect(strict.skills.map(({ name }) => name)).toEqual(folders.filter((name) => name !== LONG));
    expect(strict.diagnostics).toMatchObject([
      { file: `${LONG}/SKILL.md`, line: 3, severity: 'error', code: 'description_over_specification' },
    ]);
    expect(view.fault).toBeUndefined();
    expect(view.manifest).toBe(bundle.manifest.digest);
    expect(view.entries).toEqual(bundle.skills);
  });

  it('come back from KV byte for byte, bodies and files, text or not', async () => {
    for (const entry of view.entries) {
      const source = await readFile(join(folder, entry.name, 'SKILL.md'));
      const body = Buffer.from(await view.body(entry));
      expect(source.subarray(source.length - body.length).equals(body), entry.name).toBe(true);
      expect(source.subarray(0, source.length - body.length).toString()).toMatch(/^---\n[\s\S]*\n---\n$/);
      const paths = (await listPaths(join(folder, entry.name))).filter((path) => path !== 'SKILL.md');
      expect(entry.resources.map(({ path }) => path)).toEqual(paths);
      for (const resource of entry.resources) {
        const bytes = await readFile(join(folder, entry.name, resource.path));
        expect(Buffer.from(await view.resource(resource)).equals(bytes), resource.path).toBe(true);
      }
    }
  });

  it('are the same text from a gesture and from the tool, with the body in it as it is', async () => {
    for (const entry of view.entries) {
      const context = makeContext(view, { claimed: [makeMessage(`please /${entry.name} this`)] });
      const outcome = await skillLane.run(context);
      const [injection, ...more] = outcome.kind === 'enter' ? outcome.inject : [];
      expect(more).toEqual([]);
      const [block] = injection?.content ?? [];
      const typed = block?.type === 'text' ? block.text : '';
      const call = {
        ...context,
        call: 'c',
        workspace: NO_WORKSPACE,
        env: {},
        invokedSkills: () => new Set<string>(),
        now: () => 0,
      };
      expect(await skillTool.run({ name: entry.name }, call)).toMatchObject({
        content: [{ type: 'text', text: typed }],
      });
      expect(typed).toContain(await view.body(entry));
    }
  });

  it('give each of their files to the tool that reads them, whole', async () => {
    const call = {
      ...makeContext(view),
      call: 'c',
      workspace: NO_WORKSPACE,
      env: {},
      invokedSkills: () => new Set<string>(),
      now: () => 0,
    };
    let read = 0;
    for (const { name: skill, resources } of view.entries) {
      for (const { path } of resources) {
        const bytes = await readFile(join(folder, skill, path));
        const output = await resourceTool.run({ skill, path }, call);
        const text = typeof output === 'string' ? output : '';
        if (path === 'logo.png') expect(text.endsWith(bytes.toString('base64'))).toBe(true);
        else if (bytes.length > 0) expect(text === bytes.toString('utf8'), `${skill}/${path}`).toBe(true);
        read++;
      }
    }
    expect(read).toBeGreaterThan(100);
  });
});
