import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { ReplayArguments } from '../../scripts/replay/arguments.ts';
import { readRecording } from '../../scripts/replay/recorded-session.ts';
import { varySession } from '../../scripts/replay/replay-session.ts';
import { reportVariation } from '../../scripts/replay/report.ts';
import { effects, testDeployment } from '../support/deployment.ts';
import { loadFixture, SKILLS } from './fixtures.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perch-vary-'));
  await writeFile(join(folder, 'persona.txt'), 'You are a pirate.');
  await writeFile(join(folder, 'of-a-team.txt'), 'You are a pirate of {{team}}.');
  await mkdir(join(folder, 'guide'));
  const skill = await readFile(join(SKILLS, 'guide/SKILL.md'), 'utf8');
  await writeFile(join(folder, 'guide/SKILL.md'), skill.replace('Do it.', 'Leave it.'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Variation = NonNullable<ReplayArguments['variation']>;

function vary(
  name: string,
  from: number,
  change: Variation['change'],
  more: Partial<Variation> = {},
  deployment: DeploymentDefinition = testDeployment,
) {
  const session = loadFixture(name);
  const variation = { from, change, live: false, liveTools: false, ...more };
  return varySession(session, name, deployment, SKILLS, variation, {});
}

function seqOf(name: string, type: string, nth: number): number {
  return loadFixture(name).events.filter((event) => event.type === type)[nth]?.seq ?? 0;
}

const persona = (file = 'persona.txt'): Variation['change'] => ({
  kind: 'persona',
  value: join(folder, file),
});

it('re-runs the rest with another persona and the recorded answers, and shows the one difference', async () => {
  const from = seqOf('gestures', 'turn/end', 1);
  const { differences, events, exported } = await vary('gestures', from, persona('of-a-team.txt'));
  expect(differences).toMatchObject([
    { turn: 3, kind: 'prompt', what: 'the section deployment:persona is another one', owner: 'session' },
  ]);
  expect(differences[0]?.text?.after).toBe('You are a pirate of the blue team.');
  expect(events.slice(0, from)).toEqual(loadFixture('gestures').events.slice(0, from));
  // The re-run is a session's log by itself: audited, and a recording again.
  expect(auditSession(parseExport(exported)).findings).toEqual([]);
  expect(readRecording(exported).events).toEqual(events);
});

it('goes on inside a turn, from the end of a step', async () => {
  const from = seqOf('tools', 'step/end', 0);
  const { differences, events } = await vary('tools', from, persona());
  expect(differences.map(({ turn, step, kind }) => [turn, step, kind])).toEqual([[1, 2, 'prompt']]);
  expect(events.at(-1)).toMatchObject({ type: 'turn/end', turn: 1, steps: 3, reason: { kind: 'completed' } });
});

it('keeps what waited at the place, and what comes later at its own', async () => {
  const waiting = await vary('steering', 2, persona());
  expect(waiting.differences.map(({ kind }) => kind)).toEqual(['prompt']);
  const claimed = (events: readonly object[]) =>
    events.flatMap((event) => ('claimed' in event ? [event.claimed] : []));
  expect(claimed(waiting.events)).toEqual(claimed(loadFixture('steering').events));
});

it('reads one skill from another folder', async () => {
  const { differences } = await vary('gestures', 1, { kind: 'skill', value: join(folder, 'guide') });
  expect(differences.map(({ turn, what }) => [turn, what])).toEqual([
    [1, 'the text of the skill guide is another one'],
    [4, 'the text of the skill guide is another one'],
  ]);
  expect(differences[0]?.text).toMatchObject({ before: '2. Do it.', after: '2. Leave it.' });
  await expect(vary('gestures', 1, { kind: 'skill', value: join(folder, 'none') })).rejects.toThrow(
    'no skill',
  );
});

it('really asks another model, and binds its calls by tool and arguments', async () => {
  const from = seqOf('gestures', 'turn/end', 1);
  const before = effects.length;
  const { differences, events } = await vary('gestures', from, { kind: 'model', value: 'offline/demo' });
  const told = differences.map(({ what }) => what);
  expect(told).toContain('the model is another one');
  // The same call with other ids than the recorded: its recorded result.
  expect(told.filter((what) => what.includes('call') || what.includes('result'))).toEqual([]);
  expect(events.filter((event) => event.seq > from && event.type === 'assistant/message')).toMatchObject([
    { model: 'demo' },
    { model: 'demo' },
    { model: 'demo' },
  ]);
  expect(effects.length).toBe(before);
  const table = reportVariation(loadFixture('gestures').events, events, from);
  expect(table).toMatch(/turn 3\n {2}answer .+instant of offline.+demo of offline/);
  expect(table).toMatch(
    / {2}tokens +\d+ +\d+\n {2}cost +\$0\.000000 +\$0\.000000\n {2}outcome +completed +completed/,
  );
});

it('gives a call of another model its recorded result, and runs it where it may', async () => {
  const change = { kind: 'model' as const, value: 'offline/instant' };
  const result = async (liveTools: boolean) => {
    const { events } = await vary('restarts', 1, change, { liveTools });
    return events.flatMap((event) =>
      event.type === 'tool/result' ? [[event.name, event.error ?? null] as const] : [],
    );
  };
  const recorded = await result(false);
  // `effect` was never seen to answer: what the recording has of it is what the model was told.
  expect(recorded).toContainEqual(['effect', 'TOOL_OUTCOME_UNKNOWN']);
  const before = effects.length;
  const live = await result(true);
  expect(live).toContainEqual(['effect', null]);
  expect(effects.length).toBeGreaterThan(before);
});

it('refuses a place where a step is open, and names the nearest', async () => {
  const from = seqOf('gestures', 'request/attempt', 0);
  await expect(vary('gestures', from, persona())).rejects.toThrow(/nearest places are 3 and 11/);
  await expect(vary('gestures', 9_999, persona())).rejects.toThrow('the log ends at');
});

it('takes every closed place of every recording, and comes out the same but for the change', async () => {
  const { events } = loadFixture('steering');
  let isOpen = false;
  let tried = 0;
  for (const { seq, type } of events) {
    if (type === 'step/start') isOpen = true;
    if (type === 'step/end') isOpen = false;
    if (isOpen) continue;
    const { differences } = await vary('steering', seq, persona());
    expect([seq, differences.filter(({ kind }) => kind !== 'prompt')]).toEqual([seq, []]);
    tried++;
  }
  expect(tried).toBe(10);
});
