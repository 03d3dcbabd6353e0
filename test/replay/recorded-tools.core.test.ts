import { expect, it } from 'vitest';
import { waitWithTimer } from '../../durable/time-limit.ts';
import { runTool, type ToolContext, type ToolDefinition } from '../../durable/tools/index.ts';
import { createRecordedTools } from '../../scripts/replay/recorded-tools.ts';
import { readSkills } from '../../scripts/replay/replay-skills.ts';
import { effects, testDeployment } from '../support/deployment.ts';
import { NO_WORKSPACE } from '../support/no-workspace.ts';
import { loadFixture, SKILLS } from './fixtures.ts';

const skills = await readSkills(SKILLS, null);

/** Calls tools of the recording's deployment, as a model would that gives these ids and arguments. */
function createCaller(onStopped: (turn: number) => void = () => undefined) {
  const inputs = new Map<string, unknown>();
  const tools = createRecordedTools(loadFixture('tools').events, {
    inputOf: (call) => inputs.get(call),
    onStopped,
    sourced: () => [],
  });
  const bound = tools.bind(testDeployment).plugins.flatMap((plugin): ToolDefinition[] => plugin.tools ?? []);
  const byName = new Map(bound.map((tool) => [tool.name, tool]));
  return (name: string, call: string, input: Record<string, string>, step = 1) => {
    inputs.set(call, input);
    const context: ToolContext = {
      session: { id: 's', agent: 'a', cwd: '/', metadata: {} },
      call,
      turn: 1,
      step,
      signal: new AbortController().signal,
      skills,
      invokedSkills: () => new Set(),
      now: () => 0,
      workspace: NO_WORKSPACE,
      env: {},
    };
    return runTool({ type: 'tool-call', id: call, name, input }, byName, context, waitWithTimer);
  };
}

const text = (text: string) => [{ type: 'text', text }];

it('answers a call of the recording as it was answered, failures too, and runs nothing', async () => {
  const call = createCaller();
  const before = effects.length;
  expect(await call('echo', 'b', { text: '2' })).toEqual({ content: text('2') });
  expect(await call('effect', 'c', { text: 'recorded' })).toEqual({ content: text('done: recorded') });
  expect(await call('broken', 'd', {})).toMatchObject({ error: 'tool_failed' });
  expect(await call('slow', 'e', {})).toMatchObject({ error: 'tool_timeout' });
  expect(effects.length).toBe(before);
});

it('knows a call under another id by its tool and arguments, each result once', async () => {
  const call = createCaller();
  expect(await call('echo', 'x', { text: '2' }, 7)).toEqual({ content: text('2') });
  expect(await call('echo', 'y', { text: '2' }, 7)).toMatchObject({ error: 'recording_unbound' });
});

it('makes no answer up: other arguments under a known id, another tool, an unknown call', async () => {
  const call = createCaller();
  expect(await call('echo', 'a', { text: 'something else' })).toEqual({
    content: text('recording_unbound: The recording has no result of echo with these arguments.'),
    error: 'recording_unbound',
  });
  expect(await call('effect', 'a', { text: '1' })).toMatchObject({ error: 'recording_unbound' });
  expect(await call('current_time', 'z', {})).toMatchObject({ error: 'recording_unbound' });
});

it('runs the tools of the skills, which read the skills of the replay', async () => {
  const call = createCaller();
  expect(await call('skill', 'new', { name: 'guide' })).toMatchObject({
    content: [{ text: expect.stringContaining('1. Say what you do.') }],
  });
});
