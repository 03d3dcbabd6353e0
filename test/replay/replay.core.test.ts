import { expect, it } from 'vitest';
import { z } from 'zod';
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import type { AgentDefinition, DeploymentDefinition, Plugin } from '../../durable/plugins.ts';
import { defineTool } from '../../durable/tools/index.ts';
import { readRecording } from '../../scripts/replay/recorded-session.ts';
import { replaySession } from '../../scripts/replay/replay-session.ts';
import { readSkills } from '../../scripts/replay/replay-skills.ts';
import { effects, testDeployment } from '../support/deployment.ts';
import { FIXTURE_NAMES, loadFixture, SKILLS } from './fixtures.ts';

const skills = await readSkills(SKILLS, null);

async function replay(name: string, deployment: DeploymentDefinition = testDeployment) {
  const { differences } = await replaySession(loadFixture(name), name, deployment, skills);
  return differences;
}

function withAgent(
  name: string,
  change: Partial<DeploymentDefinition['agents'][number]>,
): DeploymentDefinition {
  const [first, ...rest] = testDeployment.agents.map((agent) =>
    agent.name === name ? { ...agent, ...change } : agent,
  );
  if (!first) throw new Error('there is no agent');
  return { ...testDeployment, agents: [first, ...rest] };
}

function withPlugin(plugin: Plugin): DeploymentDefinition {
  return withPlugins(
    [...testDeployment.plugins, plugin],
    plugin.tools?.map(({ name }) => name),
  );
}

function changePlugin(name: string, change: (plugin: Plugin) => Plugin): DeploymentDefinition {
  const plugins = testDeployment.plugins.map((plugin) => (plugin.name === name ? change(plugin) : plugin));
  return withPlugins(plugins);
}

/** Agents that list their tools list those that are gone no more, and the new ones too. */
function withPlugins(plugins: Plugin[], added: string[] = []): DeploymentDefinition {
  const known = new Set(plugins.flatMap(({ tools = [] }) => tools.map(({ name }) => name)));
  const listTools = (agent: AgentDefinition): AgentDefinition =>
    agent.tools === 'all'
      ? agent
      : { ...agent, tools: [...new Set([...agent.tools, ...added])].filter((name) => known.has(name)) };
  const [first, ...rest] = testDeployment.agents;
  return { ...testDeployment, plugins, agents: [listTools(first), ...rest.map(listTools)] };
}

it.each(FIXTURE_NAMES)('%s comes out the same, and no tool runs for it', async (name) => {
  const before = effects.length;
  const session = loadFixture(name);
  const { differences, notes, exported } = await replaySession(session, name, testDeployment, skills);
  expect(differences).toEqual([]);
  expect(notes).toEqual([]);
  expect(effects.length).toBe(before);
  // What the re-run logged is a session's log by itself, and a recording again.
  expect(auditSession(parseExport(exported)).findings).toEqual([]);
  const again = await replaySession(readRecording(exported), name, testDeployment, skills);
  expect(again.differences).toEqual([]);
});

it('names the section that changed, its owner, and the first line that differs, once', async () => {
  const differences = await replay('text', withAgent('claude', { persona: 'You are somebody else.' }));
  expect(differences).toEqual([
    {
      turn: 1,
      step: 1,
      kind: 'prompt',
      owner: 'deployment',
      what: 'the section deployment:persona is another one',
      text: { line: 1, before: 'You are the other stand-in agent.', after: 'You are somebody else.' },
    },
  ]);
});

it('names a skill whose text changed, where a person called for it and where the model loaded it', async () => {
  const entry = skills.find('guide');
  if (!entry) throw new Error('there is no guide');
  const changed = { ...skills, manifest: 'another', body: async () => '# Guide\n\n1. Keep silent.\n' };
  const gesture = await replaySession(loadFixture('gestures'), 'gestures', testDeployment, changed);
  expect(gesture.differences.map(({ turn, kind, owner, what }) => [turn, kind, owner, what])).toEqual([
    [1, 'injection', 'skill guide', 'the text of the skill guide is another one'],
    [4, 'injection', 'skill guide', 'the text of the skill guide is another one'],
  ]);
  expect(gesture.differences[0]?.text).toMatchObject({ after: '1. Keep silent.' });
  const loaded = await replaySession(loadFixture('tools'), 'tools', testDeployment, changed);
  expect(loaded.differences).toMatchObject([{ turn: 1, step: 2, kind: 'call', owner: 'skill' }]);
});

it('tells of another release that no model is told of in a note', async () => {
  const { differences, notes } = await replaySession(loadFixture('text'), 'text', testDeployment, {
    ...skills,
    manifest: 'f'.repeat(64),
  });
  expect(differences).toEqual([]);
  expect(notes).toEqual([expect.stringContaining('another release of the skills')]);
});

it('tells of a skill that is gone, and of a catalog without it', async () => {
  const none = { ...skills, entries: [], find: () => undefined };
  const { differences } = await replaySession(loadFixture('reset'), 'reset', testDeployment, none);
  const told = differences.map(({ turn, owner, what }) => [turn, owner, what]);
  expect(told).toContainEqual([1, 'skill guide', 'the text of the skill guide is not injected any more']);
  expect(told).toContainEqual([1, 'skills', 'the catalog of skills is not injected any more']);
  expect(told).toContainEqual([1, 'skills', 'the tool skill is gone']);
});

it('names tools that are described otherwise, new or gone, and what becomes of their calls', async () => {
  const described = changePlugin('facts', (plugin) => ({
    ...plugin,
    tools: (plugin.tools ?? [])
      .filter(({ name }) => name !== 'broken')
      .map((tool) => (tool.name === 'echo' ? { ...tool, description: 'Says it again.' } : tool)),
  }));
  const differences = await replay('tools', described);
  const told = differences.map(({ kind, owner, what }) => [kind, owner, what]);
  expect(told).toContainEqual(['prompt', 'facts', 'the tool echo is described otherwise']);
  expect(told).toContainEqual(['prompt', 'facts', 'the tool broken is gone']);
  expect(told).toContainEqual(['call', 'broken', 'the result of broken is another one']);
  const added = defineTool({
    name: 'another',
    description: 'New.',
    input: z.strictObject({}),
    run: () => '',
  });
  expect(await replay('text', withPlugin({ name: 'more', tools: [added] }))).toMatchObject([
    { owner: 'more', what: 'the tool another is new' },
  ]);
});

it('tells of arguments that a tool does not take any more', async () => {
  const strict = defineTool({
    name: 'echo',
    description: 'Returns its text.',
    input: z.strictObject({ text: z.string().min(2) }),
    parallelSafe: true,
    run: ({ text }) => text,
  });
  const differences = await replay(
    'tools',
    changePlugin('facts', (plugin) => ({
      ...plugin,
      tools: (plugin.tools ?? []).map((tool) => (tool.name === 'echo' ? strict : tool)),
    })),
  );
  expect(differences.find(({ kind }) => kind === 'call')?.text?.after).toContain('invalid_arguments');
});

it('names a lane that says more, and its plugin', async () => {
  const differences = await replay(
    'text',
    withPlugin({
      name: 'chatty',
      lanes: [
        {
          lane: 'plugin',
          name: 'hint',
          run: () => ({
            kind: 'enter',
            inject: [
              {
                source: { kind: 'plugin', name: 'chatty' },
                content: [{ type: 'text', text: 'By the way.' }],
              },
            ],
          }),
        },
      ],
    }),
  );
  expect(differences).toMatchObject([
    { turn: 1, kind: 'injection', owner: 'chatty', what: 'the plugin of chatty is injected now' },
    { turn: 2, kind: 'injection', owner: 'chatty' },
  ]);
});

it('tells of a lane that refuses what it took, and takes what it refused', async () => {
  const open = await replay(
    'gestures',
    changePlugin('facts', (plugin) => ({ ...plugin, lanes: [] })),
  );
  expect(open[0]).toMatchObject({ turn: 2, kind: 'outcome', what: 'a step that was not' });
  const closed = await replay(
    'text',
    withPlugin({
      name: 'closed',
      lanes: [{ lane: 'plugin', name: 'no', run: () => ({ kind: 'reject', message: 'Not today.' }) }],
    }),
  );
  expect(closed).toContainEqual(
    expect.objectContaining({
      turn: 1,
      what: 'the turn ends otherwise',
      text: { line: 1, before: 'completed', after: 'blocked by closed: Not today.' },
    }),
  );
});

it('tells of another model and other options of an agent', async () => {
  const changed = withAgent('plain', { model: 'offline/demo', options: { temperature: 0.5 } });
  const told = (await replay('reset', changed)).map(({ owner, what }) => [owner, what]);
  expect(told).toContainEqual([null, 'the model is another one']);
  expect(told).toContainEqual([null, 'the config is another one']);
  expect(told).toContainEqual(['loop', 'the variable model is another one']);
});

it('tells of a mistake in a section that stops every turn now', async () => {
  const differences = await replay('text', withAgent('claude', { persona: 'You are {{nobody}}.' }));
  expect(differences).toContainEqual(
    expect.objectContaining({
      turn: 1,
      kind: 'outcome',
      what: 'the turn ends otherwise',
      text: expect.objectContaining({
        before: 'completed',
        after: expect.stringContaining('prompt_unknown_variable'),
      }),
    }),
  );
});

it('tells of a budget that is smaller, of retries that are fewer, and of an agent that is gone', async () => {
  const short = await replay('tools', withAgent('stand-in', { budgets: { turn: { steps: 2 } } }));
  expect(short.at(-1)?.text).toEqual({ line: 1, before: 'completed', after: 'budget steps of the turn: 2' });
  const impatient = await replay('failures', { ...testDeployment, retry: { attempts: 1 } });
  expect(impatient[0]).toMatchObject({ turn: 1, kind: 'request' });
  const [first, ...rest] = testDeployment.agents.filter(({ name }) => name !== 'plain');
  if (!first) throw new Error('there is no agent');
  expect(await replay('reset', { ...testDeployment, agents: [first, ...rest] })).toMatchObject([
    { what: expect.stringContaining('unknown_agent') },
  ]);
});

it('tells where the log goes another way, when nothing else differs', async () => {
  const alone = changePlugin('facts', (plugin) => ({
    ...plugin,
    tools: (plugin.tools ?? []).map((tool) => ({ ...tool, parallelSafe: false })),
  }));
  expect(await replay('tools', alone)).toMatchObject([
    { kind: 'order', what: expect.stringContaining('event 11') },
  ]);
});
