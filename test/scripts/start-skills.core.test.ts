import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bundle } from '../../scripts/skills/bundle.ts';
import { createSkillPublisher } from '../../scripts/start/skills.ts';

let dir = '';
let published: Bundle[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'perch-skills-test-'));
  published = [];
  await cp('skills/release-notes', join(dir, 'release-notes'), { recursive: true });
  await cp('skills/handover', join(dir, 'handover'), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const createPublisher = () =>
  createSkillPublisher(dir, 'state', async (bundle) => {
    published.push(bundle);
  });

async function edit(skill: string, from: string, to: string): Promise<void> {
  const file = join(dir, skill, 'SKILL.md');
  await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
}

describe('the skills of a running service', () => {
  it('are published at the start, without those that are wrong, which are named', async () => {
    await edit('handover', 'name: handover', 'name: other');
    const lines = await createPublisher().publishFirst();
    expect(lines).toEqual([
      expect.stringMatching(/^skills: handover\/SKILL\.md:\d+: .*other/),
      '1 skills: /release-notes',
    ]);
    expect(published.map(({ skills }) => skills.map(({ name }) => name))).toEqual([['release-notes']]);
  });

  it('are published again when one changes, comes or goes, in one line', async () => {
    const publisher = createPublisher();
    await publisher.publishFirst();
    await edit('handover', '# Handover', '# Passing on');
    await cp('skills/incident-review', join(dir, 'incident-review'), { recursive: true });
    await rm(join(dir, 'release-notes'), { recursive: true });
    expect(await publisher.publishChange()).toEqual([
      'skills: changed handover; added incident-review; removed release-notes',
    ]);
    expect(published).toHaveLength(2);
  });

  it('are not published again where nothing of them changed', async () => {
    const publisher = createPublisher();
    await publisher.publishFirst();
    expect(await publisher.publishChange()).toEqual([]);
    expect(published).toHaveLength(1);
  });

  it('stay as they were while one of them is wrong', async () => {
    const publisher = createPublisher();
    await publisher.publishFirst();
    await edit('handover', 'name: handover', 'name: other');
    expect(await publisher.publishChange()).toEqual([
      expect.stringMatching(/^skills: handover\/SKILL\.md:\d+: /),
      'skills: not published; the last release stays',
    ]);
    expect(published).toHaveLength(1);
  });
});
