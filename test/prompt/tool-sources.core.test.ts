import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resolveDeployment } from '../../durable/composition.ts';
import { offline } from '../../durable/models/index.ts';
import type { AgentDefinition, Plugin } from '../../durable/plugins.ts';
import { assemble, planPrompt } from '../../durable/prompt/index.ts';
import type { AssembleContext, ToolSourceContext } from '../../durable/prompt/types.ts';
import { defineTool } from '../../durable/tools/index.ts';
import { NO_SKILLS } from '../tools/no-skills.ts';

const tool = (name: string) =>
  defineTool({ name, description: name, input: z.strictObject({}), run: () => name });

function setUp(tools: AgentDefinition['tools'], plugins: Plugin[] = []) {
  const asked: ToolSourceContext[] = [];
  const source: Plugin = {
    name: 'remote',
    toolSources: [
      {
        prefix: 'far__',
        list: async (context) => {
          asked.push(context);
          return ['far__b__two', 'far__a__one', 'far__B__three'].map((name) => ({
            owner: 'far',
            tool: tool(name),
          }));
        },
      },
    ],
  };
  const deployment = resolveDeployment({
    agents: [{ name: 'one', model: 'offline/instant', persona: 'Persona.', tools }],
    plugins: [source, { name: 'near', tools: [tool('zeta'), tool('alpha')] }, ...plugins],
    providers: [offline()],
    toolOrder: ['zeta', '<unlisted-tools>'],
  });
  const context: AssembleContext = {
    session: { id: 's', agent: 'one', cwd: '/here', metadata: {} },
    call: { provider: 'offline', model: 'instant', options: {} },
    skills: NO_SKILLS,
    signal: AbortSignal.timeout(1_000),
  };
  const names = async (sessionTools: string[] | null, env?: Record<string, unknown>) => {
    const plan = planPrompt(deployment, deployment.agent('one'), null, sessionTools);
    const { assembly } = await assemble(plan, context, env);
    return assembly.tools.map((entry) => entry.tool.name);
  };
  return { names, asked };
}

describe('tools of a source', () => {
  it('stand after the deployment order, by code unit', async () => {
    const { names, asked } = setUp('all');
    expect(await names(null, { KEY: 'k' })).toEqual([
      'zeta',
      'alpha',
      'far__B__three',
      'far__a__one',
      'far__b__two',
    ]);
    expect(asked[0]?.env).toEqual({ KEY: 'k' });
  });

  it('are not looked up where a prompt is only looked at', async () => {
    const { names, asked } = setUp('all');
    expect(await names(null)).toEqual(['zeta', 'alpha']);
    expect(asked).toEqual([]);
  });

  it('are those that the agent names, and of them those that the session names', async () => {
    expect(await setUp(['alpha']).names(null, {})).toEqual(['alpha']);
    expect(await setUp(['far__*']).names(null, {})).toEqual(['far__B__three', 'far__a__one', 'far__b__two']);
    expect(await setUp(['alpha', 'far__a__one']).names(null, {})).toEqual(['alpha', 'far__a__one']);
    expect(await setUp(['far__*']).names(['far__a__*', 'zeta'], {})).toEqual(['far__a__one']);
    expect(await setUp('all').names(['zeta'], {})).toEqual(['zeta']);
  });

  it('have their prefix for themselves', async () => {
    expect(() => setUp('all', [{ name: 'more', tools: [tool('far__c')] }])).toThrow(/prefix/);
    const again = { prefix: 'far__', list: () => [] };
    expect(() => setUp('all', [{ name: 'more', toolSources: [again] }])).toThrow(/registered by remote/);
    await expect(setUp(['near__*']).names(null, {})).rejects.toThrow(/no plugin registers/);
  });
});
