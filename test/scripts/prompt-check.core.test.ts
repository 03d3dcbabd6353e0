import { describe, expect, it } from 'vitest';
import { offline } from '../../durable/models/index.ts';
import type { AgentDefinition, DeploymentDefinition, Plugin } from '../../durable/plugins.ts';
import { checkPrompts, formatFault, viewBundle } from '../../scripts/prompt-check.ts';
import { bundleSkills } from '../../scripts/skills/bundle.ts';

const skills = viewBundle(await bundleSkills('skills'));

const agent = (name: string, persona: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name,
  persona,
  model: 'offline/demo',
  tools: 'all',
  ...more,
});

async function findFaults(
  agents: DeploymentDefinition['agents'],
  plugins: Plugin[] = [],
  more: Partial<DeploymentDefinition> = {},
): Promise<string[]> {
  const { faults } = await checkPrompts({ agents, plugins, providers: [offline()], ...more }, skills);
  return faults.map(formatFault);
}

describe('the prompt check', () => {
  it('passes a deployment whose agents all render', async () => {
    expect(await findFaults([agent('one', 'You run on {{model}}.')])).toEqual([]);
  });

  it('names the agent, the section and the reason, and goes on with the next agent', async () => {
    const faults = await findFaults([
      agent('one', 'You are {{nobody}}.'),
      agent('two', 'You are fine.'),
      agent('three', 'You are {{ model }}.'),
    ]);
    expect(faults).toHaveLength(2);
    expect(faults[0]).toMatch(
      /^agent one, section deployment:persona: prompt_unknown_variable: .*\{\{nobody\}\}.*Known variables: cwd, model, provider/,
    );
    expect(faults[1]).toMatch(/^agent three, section deployment:persona: prompt_malformed_reference: /);
  });

  it('names a tool that an agent wants and nobody registers', async () => {
    const faults = await findFaults([agent('one', 'You are one.', { tools: ['saw'] })]);
    expect(faults).toEqual([expect.stringMatching(/^agent one: unknown_tool: .*saw/)]);
  });

  it.each<[string, Plugin[], Partial<DeploymentDefinition>, RegExp]>([
    [
      'a name that two plugins register',
      ['a', 'b'].map((name) => ({ name, variables: [{ name: 'team', provide: () => 'us' }] })),
      {},
      /^the deployment: registry_duplicate: .*team/,
    ],
    [
      'a tool order with an unknown tool',
      [],
      { toolOrder: ['saw', '<unlisted-tools>'] },
      /tool_order_unknown: .*saw/,
    ],
    ['a default agent that is not there', [], { defaultAgent: 'nobody' }, /unknown_agent: .*nobody/],
  ])('names %s', async (_, plugins, more, expected) => {
    expect(await findFaults([agent('one', 'You are one.')], plugins, more)).toEqual([
      expect.stringMatching(expected),
    ]);
  });
});
