/** What the pages tell a reader to write is written, compiled and run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resolveDeployment } from '../../durable/composition.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import { previewPrompt } from '../../durable/prompt/index.ts';
import { viewBundle } from '../../scripts/prompt-check.ts';
import { bundleSkills } from '../../scripts/skills/bundle.ts';
import { extractBlocks } from './code-blocks.ts';

const PAGES = ['README.md', 'docs/extending.md'];
const tsconfig = {
  extends: resolve('tsconfig.json'),
  compilerOptions: { typeRoots: [resolve('node_modules/@types'), resolve('node_modules')] },
  include: ['durable'],
};

describe('the code blocks of README.md and docs/extending.md', () => {
  let root = '';

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'perch-docs-'));
    await cp('durable', join(root, 'durable'), { recursive: true });
    await symlink(resolve('node_modules'), join(root, 'node_modules'));
    await writeFile(join(root, 'tsconfig.json'), JSON.stringify(tsconfig));
    await writeFile(join(root, 'package.json'), '{"type":"module"}');
    for (const page of PAGES) {
      for (const { path, text } of extractBlocks(await readFile(page, 'utf8'))) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), text);
      }
    }
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('are there: a skill, a tool, a section, a lane and a deployment', async () => {
    const paths = extractBlocks(await readFile('docs/extending.md', 'utf8')).map(({ path }) => path);
    expect(paths).toEqual([
      'skills/standup/SKILL.md',
      'durable/tools/on-call/index.ts',
      'durable/house/index.ts',
      'durable/house/owners.ts',
      'durable/deployment.ts',
    ]);
    expect(extractBlocks(await readFile('README.md', 'utf8')).length).toBeGreaterThan(0);
  });

  it('say the same on both pages', async () => {
    const [readme, extending] = await Promise.all(PAGES.map((page) => readFile(page, 'utf8')));
    const known = extractBlocks(extending ?? '');
    for (const block of extractBlocks(readme ?? '')) expect(known).toContainEqual(block);
  });

  it('compile', { timeout: 60_000 }, async () => {
    const tsc = resolve('node_modules/.bin/tsc');
    const outcome = await promisify(execFile)(tsc, ['-p', root]).catch((error: unknown) => error);
    expect(outcome).toEqual({ stdout: '', stderr: '' });
  });

  it('are skills that the bundler takes', async () => {
    const { skills, diagnostics } = await bundleSkills(join(root, 'skills'));
    expect(diagnostics).toEqual([]);
    expect(skills.map(({ name }) => name)).toContain('standup');
  });

  it('make the deployment that they describe', async () => {
    const url = pathToFileURL(join(root, 'durable/deployment.ts')).href;
    const { deployment } = z
      .object({ deployment: z.custom<DeploymentDefinition>() })
      .parse(await import(/* @vite-ignore */ url));
    const resolved = resolveDeployment(deployment);
    const view = await previewPrompt(resolved, {
      agent: null,
      model: 'in-house/some-model',
      cwd: null,
      persona: null,
      text: '/standup we mended the checkout',
      skills: viewBundle(await bundleSkills(join(root, 'skills'))),
    });
    expect(view.system_text).toContain('You are the assistant of no team in particular.');
    expect(view.system_text).toContain('You write for no team in particular.');
    expect(view.system_text).toContain('{{ first_name }}');
    expect(view.tool_schemas.map(({ name }) => name)).toEqual([
      'skill',
      'current_time',
      'days_between',
      'on_call',
    ]);
    const injected = view.injections.map(({ source }) => source.kind);
    expect(injected).toEqual(['references', 'skill-catalog', 'skill-invocation']);
    expect(view.injections[0]?.text).toBe('checkout is owned by payments.');
  });
});

describe('the links of the pages', () => {
  it.each(['README.md', 'docs/extending.md', 'docs/deploy.md'])('of %s lead to files', async (page) => {
    const links = [...(await readFile(page, 'utf8')).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
      ([, path]) => path ?? '',
    );
    for (const link of links) expect(existsSync(join(dirname(page), link)), link).toBe(true);
  });
});
