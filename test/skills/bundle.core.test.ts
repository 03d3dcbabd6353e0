import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_FILES } from '../../durable/skills/limits.ts';
import { contentKey, manifest, manifestKey, POINTER_KEY } from '../../durable/skills/manifest.ts';
import { createSkillSource } from '../../durable/skills/source.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { type Bundle, bundleSkills } from '../../scripts/skills/bundle.ts';
import { describeBundle, formatBundle, hasRejected } from '../../scripts/skills/report.ts';
import { encodeBulk, splitChunks } from '../../scripts/skills/store.ts';
import { runSkillTests } from '../../scripts/skills/tests.ts';
import { MemoryKv } from './memory-kv.ts';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function makeFolder(files: Record<string, string | Uint8Array>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'perch-bundle-'));
  folders.push(dir);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  return dir;
}

const skill = (name: string, rest = '', body = `Do ${name}.\n`): string =>
  `---\nname: ${name}\ndescription: About ${name}\n${rest}---\n${body}`;

const codesOf = ({ diagnostics }: Bundle): string[] => diagnostics.map(({ code }) => code);
const namesOf = ({ skills }: Bundle): string[] => skills.map(({ name }) => name);

/** The bundle as a reader of KV sees it. */
function openBundle({ entries, pointer }: Bundle) {
  const kv = new MemoryKv();
  for (const { key, bytes } of entries) kv.put(key, bytes);
  kv.put(POINTER_KEY, JSON.stringify(pointer));
  return createSkillSource({ kv, freshMs: 1000, now: () => 0 });
}

describe('bundling', () => {
  it('CAT-16: a SKILL.md inside a skill is a resource of it', async () => {
    const dir = await makeFolder({
      'learn/SKILL.md': skill('learn'),
      'learn/examples/tasklist/SKILL.md': skill('tasklist', '', 'An example.\n'),
      'tasklist/SKILL.md': skill('tasklist'),
    });
    const bundle = await bundleSkills(dir);
    expect(namesOf(bundle)).toEqual(['learn', 'tasklist']);
    expect(bundle.skills[0]?.resources.map(({ path }) => path)).toEqual(['examples/tasklist/SKILL.md']);
    expect(bundle.diagnostics).toEqual([]);
  });

  it.each(['skill.md', 'Skill.md', 'SKILL.MD'])(
    'FM-22: reports %s, which is the wrong case',
    async (name) => {
      const bundle = await bundleSkills(await makeFolder({ [`alpha/${name}`]: skill('alpha') }));
      expect(bundle.diagnostics).toMatchObject([
        { file: `alpha/${name}`, code: 'wrong_case', severity: 'error' },
      ]);
      expect(hasRejected(bundle)).toBe(true);
    },
  );

  it('FM-18: a skill that is wrong does not touch its siblings', async () => {
    const dir = await makeFolder({
      'alpha/SKILL.md': skill('alpha', 'argument-hint: [pr] [mode]\n'),
      'beta/SKILL.md': skill('beta', 'user-invocable: perhaps\n'),
      'gamma/SKILL.md': skill('gamma'),
      'delta/SKILL.md': Uint8Array.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]),
    });
    const bundle = await bundleSkills(dir);
    expect(namesOf(bundle)).toEqual(['alpha', 'gamma']);
    expect(bundle.diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
      { file: 'beta/SKILL.md', line: 4, code: 'policy_invalid' },
      { file: 'delta/SKILL.md', code: 'not_utf8' },
    ]);
    expect(formatBundle(bundle)).toContain('beta/SKILL.md:4: error policy_invalid: ');
    expect(formatBundle(bundle)).toMatch(/^gamma {2,}\d+ +user, model +0$/m);
  });

  it('INV-35: warns of a skill that a command of the host shadows', async () => {
    const dir = await makeFolder({ 'compact/SKILL.md': skill('compact'), 'alpha/SKILL.md': skill('alpha') });
    const bundle = await bundleSkills(dir, { commands: ['compact'] });
    expect(bundle.diagnostics).toMatchObject([
      { file: 'compact/SKILL.md', code: 'shadowed_by_command', severity: 'warning' },
    ]);
    expect(bundle.diagnostics[0]?.message).toContain('compact');
    expect(hasRejected(bundle)).toBe(false);
  });

  it('INV-39: a skill that is called batch is published', async () => {
    expect(namesOf(await bundleSkills(await makeFolder({ 'batch/SKILL.md': skill('batch') })))).toEqual([
      'batch',
    ]);
  });

  it('keeps resources as bytes, all the way to the reader', async () => {
    const bytes = Uint8Array.from({ length: 1024 }, (_, index) => (index * 7) % 256);
    const dir = await makeFolder({
      'alpha/SKILL.md': skill('alpha'),
      'alpha/assets/logo.png': bytes,
      'alpha/empty': '',
    });
    const bundle = await bundleSkills(dir);
    const view = await openBundle(bundle).view({ tenant: 't', session: null });
    const resources = view.find('alpha')?.resources ?? [];
    expect(resources).toEqual([
      { path: 'assets/logo.png', digest: sha256Hex(bytes), bytes: 1024 },
      { path: 'empty', digest: sha256Hex(''), bytes: 0 },
    ]);
    for (const resource of resources) {
      expect(await view.resource(resource)).toEqual(resource.path === 'empty' ? new Uint8Array() : bytes);
    }
    const bulk = encodeBulk(bundle.entries).find(({ key }) => key === contentKey(sha256Hex(bytes)));
    expect(bulk?.base64).toBe(true);
    expect(new Uint8Array(Buffer.from(bulk?.value ?? '', 'base64'))).toEqual(bytes);
  });

  it('gives the same manifest for the same skills, and another one for any change', async () => {
    const files = { 'alpha/SKILL.md': skill('alpha'), 'alpha/a.txt': 'a', 'beta/SKILL.md': skill('beta') };
    const one = await bundleSkills(await makeFolder(files), { publishedAt: 1 });
    const reversed = Object.fromEntries(Object.entries(files).reverse());
    const other = await bundleSkills(await makeFolder(reversed), { publishedAt: 2 });
    expect(other.manifest).toEqual(one.manifest);
    const changes = [
      { 'alpha/a.txt': 'b' },
      { 'alpha/b.txt': 'b' },
      { 'beta/SKILL.md': skill('beta', 'license: MIT\n') },
    ];
    for (const change of changes) {
      const changed = await bundleSkills(await makeFolder({ ...files, ...change }));
      expect(changed.manifest.digest).not.toBe(one.manifest.digest);
      expect(changed.skills.map(({ digest }) => digest)).not.toEqual(one.skills.map(({ digest }) => digest));
    }
  });

  it('puts the contents before the manifest, everything under its digest, and the pointer apart', async () => {
    const bundle = await bundleSkills(await makeFolder({ 'a/SKILL.md': skill('a'), 'a/x': 'x' }), {
      publishedAt: 5,
    });
    expect(bundle.entries.at(-1)?.key).toBe(manifestKey(bundle.manifest.digest));
    for (const { key, bytes } of bundle.entries)
      expect(key).toMatch(new RegExp(`^(content|manifest)/${sha256Hex(bytes)}$`));
    expect(bundle.pointer).toEqual({ manifest: bundle.manifest.digest, published_at: 5 });
    expect(manifest.parse(JSON.parse(bundle.manifest.text)).skills).toEqual(bundle.skills);
  });

  it('leaves out hidden files, links and folders without a skill, and says so where it matters', async () => {
    const dir = await makeFolder({
      'alpha/SKILL.md': skill('alpha'),
      'alpha/.DS_Store': 'x',
      '.git/config': 'x',
      'notes/readme.txt': 'x',
      'README.md': 'x',
      'SKILL.md': skill('top'),
    });
    await symlink('/etc/hostname', join(dir, 'alpha/link'));
    const bundle = await bundleSkills(dir);
    expect(bundle.skills).toMatchObject([{ name: 'alpha', resources: [] }]);
    expect(codesOf(bundle)).toEqual(['skill_not_in_folder', 'not_a_file', 'no_skill_file']);
    expect(hasRejected(bundle)).toBe(false);
  });

  it('rejects what is too large, and a path that could be read as markup', async () => {
    const many = Object.fromEntries(
      Array.from({ length: MAX_FILES + 1 }, (_, index) => [`many/${index}.txt`, '']),
    );
    const dir = await makeFolder({
      ...many,
      'many/SKILL.md': skill('many'),
      'heavy/SKILL.md': skill('heavy'),
      'heavy/blob': new Uint8Array(4 * 1024 * 1024),
      'long/SKILL.md': skill('long', '', 'x'.repeat(256 * 1024)),
      'path/SKILL.md': skill('path'),
      'path/a<b>.txt': '',
    });
    const bundle = await bundleSkills(dir);
    expect(bundle.skills).toEqual([]);
    expect(codesOf(bundle)).toEqual(['too_large', 'too_large', 'too_large', 'path_invalid']);
    expect(bundle.entries).toHaveLength(1);
  });

  it('warns of a skill that nobody can invoke', async () => {
    const rest = 'user-invocable: no\ndisable-model-invocation: yes\n';
    expect(codesOf(await bundleSkills(await makeFolder({ 'a/SKILL.md': skill('a', rest) })))).toEqual([
      'unreachable',
    ]);
  });

  it('writes a large bundle in parts that keep their order', () => {
    const entries = Array.from({ length: 12 }, (_, index) => ({
      key: contentKey(String(index)),
      bytes: new Uint8Array(6 * 1024 * 1024),
    }));
    const chunks = splitChunks(entries);
    expect(chunks.map((chunk) => chunk.length)).toEqual([4, 4, 4]);
    expect(chunks.flat()).toEqual(entries);
    expect(splitChunks([])).toEqual([]);
  });

  it('writes a manifest, a record and a pointer each by itself: a bulk write has no order inside', () => {
    const keys = [
      'content/a',
      'content/b',
      'manifest/m',
      'release/r',
      'bundle/current',
      'content/c',
      'content/d',
    ];
    const chunks = splitChunks(keys.map((key) => ({ key, bytes: new Uint8Array(1) })));
    expect(chunks.map((chunk) => chunk.map(({ key }) => key))).toEqual([
      ['content/a', 'content/b'],
      ['manifest/m'],
      ['release/r'],
      ['bundle/current'],
      ['content/c', 'content/d'],
    ]);
  });

  it('warns of what is near a limit, and says nothing below 80 % of it', async () => {
    const few = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}/${index}.txt`, '']));
    const dir = await makeFolder({
      ...few('many', Math.ceil(MAX_FILES * 0.8)),
      'many/SKILL.md': skill('many'),
      ...few('some', Math.floor(MAX_FILES * 0.79)),
      'some/SKILL.md': skill('some'),
      'heavy/SKILL.md': skill('heavy'),
      'heavy/blob': new Uint8Array(3.5 * 1024 * 1024),
      'long/SKILL.md': skill('long', '', 'x'.repeat(220 * 1024)),
      'wordy/SKILL.md': `---\nname: wordy\ndescription: ${'x'.repeat(820)}\n---\nB\n`,
    });
    const bundle = await bundleSkills(dir);
    expect(bundle.diagnostics).toMatchObject([
      { file: 'heavy/SKILL.md', code: 'near_limit_size', severity: 'warning' },
      { file: 'long/SKILL.md', code: 'near_limit_size' },
      { file: 'many/SKILL.md', code: 'near_limit_files' },
      { file: 'wordy/SKILL.md', line: 3, code: 'near_limit_description' },
    ]);
    expect(hasRejected(bundle)).toBe(false);
  });

  it('in strict mode takes what the specification has and nothing more', async () => {
    const dir = await makeFolder({
      'alpha/SKILL.md': skill('alpha', 'license: MIT\n'),
      'beta/SKILL.md': skill('beta', 'user-invocable: false\n'),
    });
    expect(namesOf(await bundleSkills(dir))).toEqual(['alpha', 'beta']);
    const strict = await bundleSkills(dir, { mode: 'strict' });
    expect(namesOf(strict)).toEqual(['alpha']);
    expect(strict.diagnostics).toMatchObject([
      { file: 'beta/SKILL.md', line: 4, code: 'field_not_specified', severity: 'error' },
    ]);
  });

  it('is reported for a program with what came of each skill, errors first', async () => {
    const dir = await makeFolder({
      'alpha/SKILL.md': skill('alpha', 'argument-hint: [pr] [mode]\n'),
      'beta/SKILL.md': skill('beta', 'user-invocable: perhaps\n'),
      'compact/SKILL.md': skill('compact'),
      'gamma/SKILL.md': skill('gamma'),
      'gamma/a.bin': new Uint8Array(5),
      'gamma/tests.yaml': '- {prompt: /gamma, not: [gamma]}\n',
    });
    const bundle = await bundleSkills(dir, { commands: ['compact'] });
    const tests = runSkillTests(bundle, ['compact']);
    const checked = { ...bundle, diagnostics: [...bundle.diagnostics, ...tests.failures] };
    const report = describeBundle(checked, { mode: 'extended', tests });
    expect(report.ok).toBe(false);
    expect(
      report.diagnostics.map(({ skill: name, line, effect, code }) => [name, line, effect, code]),
    ).toEqual([
      ['beta', 4, 'dropped', 'policy_invalid'],
      ['gamma', 1, 'test', 'test_failed'],
      ['alpha', 4, 'repaired', 'header_repaired'],
      ['alpha', 4, 'noted', 'field_unknown'],
      ['compact', 1, 'shadowed', 'shadowed_by_command'],
    ]);
    const [gamma] = report.skills.filter(({ name }) => name === 'gamma');
    expect(gamma).toMatchObject({ files: 1, file_bytes: 5, user_invocable: true, model_invocable: true });
    expect(gamma?.tokens).toBe(bundle.skills.find(({ name }) => name === 'gamma')?.tokens);
    expect(report.tests).toEqual({ run: 1, failed: 1 });
  });
});

describe('the skills that come with Perch', () => {
  it('are bundled without a word of warning', async () => {
    const bundle = await bundleSkills('skills');
    expect(bundle.diagnostics).toEqual([]);
    expect(
      bundle.skills.map(({ name, modelInvocable, userInvocable }) => [name, userInvocable, modelInvocable]),
    ).toEqual([
      ['handover', true, false],
      ['incident-review', true, true],
      ['release-notes', true, true],
    ]);
    expect(bundle.skills[1]?.resources.map(({ path }) => path)).toEqual([
      'references/severity.md',
      'templates/review.md',
    ]);
  });
});
