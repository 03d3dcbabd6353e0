import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkCall, defineTool, judgeCall, requireApproval } from '../../durable/tools/index.ts';
import type { CheckedCall, ToolContext, ToolDefinition, ToolGuard } from '../../durable/tools/types.ts';
import { NO_SKILLS } from './no-skills.ts';

const remove = defineTool({
  name: 'remove',
  description: 'Removes a thing.',
  input: z.strictObject({ what: z.string(), deep: z.object({ times: z.number().int() }).optional() }),
  run: () => 'gone',
});

function call(tool: ToolDefinition, input: unknown): CheckedCall {
  return { tool, id: 'c1', name: tool.name, input };
}

const context = { signal: new AbortController().signal } as ToolContext;
const allow: ToolGuard = { name: 'allow', check: () => ({ kind: 'allow' }) };
const deny: ToolGuard = { name: 'deny', check: () => ({ kind: 'deny', reason: 'never' }) };
const ask: ToolGuard = { name: 'ask', check: () => ({ kind: 'ask', reason: 'sure?' }) };

describe('a call', () => {
  const tools = new Map([[remove.name, remove]]);
  const block = (name: string, input: z.core.util.JSONType, malformed?: string) => ({
    type: 'tool-call' as const,
    id: 'c1',
    name,
    input,
    ...(malformed === undefined ? {} : { malformed }),
  });

  it('names the path of an argument that is not valid', () => {
    const faulty = checkCall(block('remove', { what: 'x', deep: { times: 'two' } }), tools, NO_SKILLS);
    if (!('error' in faulty)) throw new Error('it was taken');
    expect(faulty.error.data).toMatchObject({
      code: 'invalid_arguments',
      facts: { issues: [{ path: 'deep.times' }] },
    });
    expect(faulty.error.message).toContain('deep.times');
  });

  it('of no tool lists those that there are', () => {
    const faulty = checkCall(block('erase', {}), tools, NO_SKILLS);
    expect('error' in faulty && faulty.error.data).toMatchObject({
      code: 'unknown_tool',
      detail: expect.stringContaining('remove'),
    });
  });

  it('with text that is no JSON shows it', () => {
    const faulty = checkCall(block('remove', {}, '{"what": '), tools, NO_SKILLS);
    expect('error' in faulty && faulty.error.message).toContain('{"what": ');
  });
});

describe('a judgement', () => {
  it('allows what no guard objects to', async () => {
    expect(await judgeCall(call(remove, {}), [allow, allow], context)).toEqual({ kind: 'allow' });
  });

  it('denies whatever another guard would ask, in either order', async () => {
    for (const guards of [
      [ask, deny],
      [deny, ask],
    ]) {
      expect(await judgeCall(call(remove, {}), guards, context)).toEqual({ kind: 'deny', reason: 'never' });
    }
  });

  it('asks a person with the reason of the first who wants it', async () => {
    const careful = { ...remove, approval: () => 'it is a removal' };
    expect(await judgeCall(call(careful, {}), [ask], context)).toMatchObject({
      kind: 'ask',
      about: 'approval',
      question: { text: 'it is a removal' },
    });
    expect(await judgeCall(call(remove, {}), [allow, ask], context)).toMatchObject({
      question: { text: 'sure?' },
    });
  });

  it('denies where a guard fails: a check that did not run allowed nothing', async () => {
    const broken: ToolGuard = {
      name: 'broken',
      check: () => Promise.reject(new Error('no network')),
    };
    expect(await judgeCall(call(remove, {}), [broken], context)).toMatchObject({
      kind: 'deny',
      reason: expect.stringContaining('broken'),
    });
  });
});

describe('an approval rule', () => {
  const guard = requireApproval([
    { tool: 'bash', arguments: { command: /\brm\b/g }, reason: 'it removes files' },
    { tool: 'mcp__github__*', reason: 'it acts in your name' },
  ]);
  const named = (name: string, input: unknown) => guard.check({ ...call(remove, input), name }, context);

  it('fits by tool and by every argument that it names, each time anew', async () => {
    for (let times = 0; times < 3; times++) {
      expect(await named('bash', { command: 'ls; rm -r x' })).toEqual({
        kind: 'ask',
        reason: 'it removes files',
      });
    }
    expect(await named('bash', { command: 'ls' })).toEqual({ kind: 'allow' });
    expect(await named('bash', {})).toEqual({ kind: 'allow' });
    expect(await named('bash2', { command: 'rm' })).toEqual({ kind: 'allow' });
  });

  it('fits a family of tools by a star', async () => {
    expect(await named('mcp__github__merge', {})).toMatchObject({ kind: 'ask' });
    expect(await named('mcp__gitlab__merge', {})).toEqual({ kind: 'allow' });
  });

  it('reads own members only, and what is no text as JSON', async () => {
    const odd = requireApproval([{ tool: 'x', arguments: { constructor: /./ }, reason: 'odd' }]);
    expect(await odd.check({ ...call(remove, {}), name: 'x' }, context)).toEqual({ kind: 'allow' });
    const deep = requireApproval([{ tool: 'x', arguments: { list: /"b"/ }, reason: 'deep' }]);
    expect(await deep.check({ ...call(remove, { list: ['a', 'b'] }), name: 'x' }, context)).toMatchObject({
      kind: 'ask',
    });
  });
});
