import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseReplayArguments } from '../../scripts/replay/arguments.ts';
import { NotARecording, readRecording } from '../../scripts/replay/recorded-session.ts';
import { FIXTURE_NAMES, FIXTURES, readFixture, SKILLS } from './fixtures.ts';

const text = readFixture('text');
const lines = text.split('\n').filter((line) => line !== '');
const join_ = (changed: readonly string[]) => changed.join('\n');
const numberOf = (part: string) => lines.findIndex((line) => line.includes(part)) + 1;

/** By what was done to a good file: the file, and what is said of it. */
const BAD: [string, string, RegExp][] = [
  ['nothing', '', /^the file is empty$/],
  ['blank lines', '\n\n  \n', /^the file is empty$/],
  ['prose', 'Dear Sir or Madam,\n', /^line 1: this is not JSON/],
  ['another JSON', '{"messages":[]}\n', /^line 1: this is neither an event of a log nor a blob$/],
  ['a cut line', text.slice(0, text.indexOf('"turn/start"') + 5), /^line 3: this is not JSON, or is cut$/],
  [
    'the middle of a turn',
    join_(lines.slice(0, numberOf('"step/end"'))),
    new RegExp(`^line ${numberOf('"step/end"')}: the log ends here, in the middle of turn 1$`),
  ],
  ['no beginning', join_(lines.slice(1)), /^line 1: the log begins with event 2$/],
  [
    'a lost line',
    join_(lines.toSpliced(numberOf('"user/message"') - 1, 1)),
    new RegExp(`^line ${numberOf('"user/message"')}: event 6 follows event 4$`),
  ],
  [
    'no bytes',
    join_(lines.filter((line) => !line.startsWith('{"blob"'))),
    /^line \d+: event 7 names the bytes [0-9a-f]{64}, which are not here: export with \?include=blobs$/,
  ],
  [
    'other bytes',
    text.replace(/"base64":"[^"]{8}/, '"base64":"AAAAAAAA'),
    /^line \d+: the bytes are not those of [0-9a-f]{64}$/,
  ],
  [
    'an unknown event',
    text.replace('"step/end"', '"step/over"'),
    /^line \d+: this is neither an event of a log nor a blob$/,
  ],
  [
    'two sessions in one',
    `${text}${lines[0]}\n`,
    new RegExp(`^line ${lines.length + 1}: event 1 follows event \\d+$`),
  ],
];

it.each(FIXTURE_NAMES)('reads %s', (name) => {
  expect(readRecording(readFixture(name)).events.length).toBeGreaterThan(3);
});

it.each(BAD)('says what is wrong with %s, and in which line', (_, bad, message) => {
  let thrown: unknown;
  try {
    readRecording(bad);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(NotARecording);
  expect(thrown instanceof Error ? thrown.message : '').toMatch(message);
});

it('says in one line what is wrong with a command', () => {
  const wrong = (...args: string[]) => {
    const parsed = parseReplayArguments(args);
    return parsed.kind === 'invalid' ? parsed.message : parsed.kind;
  };
  expect(wrong()).toContain('One file');
  expect(wrong('a', 'b')).toContain('One file');
  expect(wrong('a', '--with-model', 'x/y')).toContain('--from');
  expect(wrong('a', '--live')).toContain('--from');
  expect(wrong('a', '--from', '3')).toContain('one thing changes');
  expect(wrong('a', '--from', '3', '--with-model', 'x/y', '--with-skill', 'z')).toContain(
    'one thing changes',
  );
  expect(wrong('a', '--from', 'three', '--with-model', 'x/y')).toContain('not three');
  expect(wrong('a', '--nonsense')).toContain('--nonsense');
  expect(wrong('a', '--from', '3', '--with-model', 'x/y', '--json')).toBe('replay');
  expect(wrong('--help')).toBe('help');
});

describe('the command', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perch-replay-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const script = fileURLToPath(new URL('../../scripts/replay.ts', import.meta.url));
  const deployment = fileURLToPath(new URL('deployment.ts', import.meta.url));
  const run = (...args: string[]) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      const all = ['--disable-warning=ExperimentalWarning', script, '--deployment', deployment, ...args];
      execFile(process.execPath, all, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  const fixture = `${FIXTURES}/gestures.jsonl`;

  it('exits with 0 where nothing differs, and says how much there was', async () => {
    expect(await run(fixture, '--skills', SKILLS)).toEqual({
      code: 0,
      stdout: 'the same: 4 turns, 4 steps, 4 requests, 1 call, 43 events\n',
      stderr: '',
    });
  });

  it('exits with 1 where something does, in words or as JSON', async () => {
    const skill = join(folder, 'guide');
    await rm(skill, { recursive: true, force: true });
    await writeSkill(skill, '# Guide\n\n1. Keep silent.\n');
    const words = await run(fixture, '--skills', folder);
    expect(words.code).toBe(1);
    expect(words.stdout).toContain(
      'turn 1 step 1: the text of the skill guide is another one (skill guide), line 4',
    );
    const json = await run(fixture, '--skills', folder, '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      same: false,
      differences: [{ owner: 'skill guide' }, {}],
    });
  });

  it('exits with 2 for a file that is no recording, and for none', async () => {
    const cut = join(folder, 'cut.jsonl');
    await writeFile(cut, text.slice(0, 500));
    const bad = await run(cut);
    expect([bad.code, bad.stdout]).toEqual([2, '']);
    expect(bad.stderr).toMatch(/cut\.jsonl: line \d+: /);
    expect((await run(join(folder, 'nowhere.jsonl'))).code).toBe(2);
    expect((await run()).code).toBe(2);
  });
});

async function writeSkill(folder: string, body: string): Promise<void> {
  const { mkdir } = await import('node:fs/promises');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'SKILL.md'), `---\nname: guide\ndescription: The skill guide.\n---\n${body}`);
}
