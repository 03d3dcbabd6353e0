import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resolveDeployment } from '../../durable/composition.ts';
import { PerchError } from '../../durable/errors.ts';
import { offline } from '../../durable/models/index.ts';
import type { DeploymentDefinition, Plugin } from '../../durable/plugins.ts';
import { assemble, createLayer, orderTools, planPrompt, render } from '../../durable/prompt/index.ts';
import type { AssembleContext } from '../../durable/prompt/types.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import { defineTool } from '../../durable/tools/index.ts';

const tool = (name: string) =>
  defineTool({ name, description: name, input: z.strictObject({}), run: () => name });
const plugin = (name: string, more: Omit<Plugin, 'name'>): Plugin => ({ name, ...more });

const noSkills: SkillView = {
  manifest: null,
  tenantManifest: null,
  entries: [],
  find: () => undefined,
  layerOf: () => 'deployment',
  body: () => Promise.reject(new Error('none')),
  resource: () => Promise.reject(new Error('none')),
};

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof PerchError) return error.data.code;
    throw error;
  }
  return 'nothing was thrown';
}

function define(more: Partial<DeploymentDefinition> = {}): DeploymentDefinition {
  return {
    agents: [
      { name: 'one', model: 'offline/instant', persona: 'Persona one on {{model}}.', tools: 'all' },
      { name: 'two', model: 'offline/demo', persona: 'Persona two.', tools: ['beta'] },
    ],
    plugins: [plugin('tools', { tools: [tool('beta'), tool('Alpha'), tool('gamma')] })],
    providers: [offline()],
    ...more,
  };
}

async function assembleFor(
  definition: DeploymentDefinition,
  agentName: string,
  persona: string | null = null,
) {
  const deployment = resolveDeployment(definition);
  const plan = planPrompt(deployment, deployment.agent(agentName), persona);
  const context: AssembleContext = {
    session: { id: 's', agent: agentName, cwd: '/here', metadata: {} },
    call: { provider: 'offline', model: 'instant', options: {} },
    skills: noSkills,
    signal: AbortSignal.timeout(1_000),
  };
  return assemble(plan, context);
}

describe('a layer', () => {
  it('takes a name once: sections, variables, tools, lanes, plugins', () => {
    const section = { name: 's', order: 0, text: '' };
    const variable = { name: 'v', provide: () => '' };
    const lane = { lane: 'plugin' as const, name: 'l', run: () => ({ kind: 'enter' as const, inject: [] }) };
    for (const parts of [
      { sections: [section] },
      { variables: [variable] },
      { tools: [tool('t')] },
      { lanes: [lane] },
    ]) {
      expect(codeOf(() => createLayer([plugin('a', parts), plugin('b', parts)]))).toBe('registry_duplicate');
    }
    expect(codeOf(() => createLayer([plugin('a', {}), plugin('a', {})]))).toBe('registry_duplicate');
  });

  it('refuses an order that is not finite and names outside the grammar', () => {
    for (const order of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(codeOf(() => createLayer([plugin('a', { sections: [{ name: 's', order, text: '' }] })]))).toBe(
        'registry_invalid',
      );
    }
    for (const name of ['Model', '1st', 'a-b', '']) {
      expect(codeOf(() => createLayer([plugin('a', { variables: [{ name, provide: () => '' }] })]))).toBe(
        'registry_invalid',
      );
    }
    expect(codeOf(() => createLayer([plugin('a', { tools: [tool('two words')] })]))).toBe('registry_invalid');
  });
});

describe('the order of tools', () => {
  it('is by code unit where nobody says otherwise', () => {
    expect(orderTools(['b', 'a', 'B', 'é'], undefined)).toEqual(['B', 'a', 'b', 'é']);
  });

  it('is the listed one, with the rest at the entry for them', () => {
    expect(orderTools(['a', 'b', 'c', 'd'], ['d', '<unlisted-tools>', 'a'])).toEqual(['d', 'b', 'c', 'a']);
  });

  it('fails loudly on an unknown name, a repeated one, and without exactly one entry for the rest', () => {
    expect(codeOf(() => orderTools(['a'], ['zz', '<unlisted-tools>']))).toBe('tool_order_unknown');
    expect(codeOf(() => orderTools(['a'], ['a', 'a', '<unlisted-tools>']))).toBe('registry_duplicate');
    expect(codeOf(() => orderTools(['a'], ['a']))).toBe('registry_invalid');
    expect(codeOf(() => resolveDeployment(define({ toolOrder: ['nobody', '<unlisted-tools>'] })))).toBe(
      'tool_order_unknown',
    );
  });
});

describe('assembly', () => {
  it('puts the identity first, the persona after it, and gives each part its owner', async () => {
    const { assembly, variableOwners } = await assembleFor(define(), 'one');
    expect(assembly.sections.map(({ name, owner }) => [name, owner])).toEqual([
      ['harness:identity', 'harness'],
      ['deployment:persona', 'deployment'],
    ]);
    expect(variableOwners).toEqual({ model: 'loop', provider: 'loop', cwd: 'loop' });
    expect(render(assembly).text).toContain('Persona one on instant.');
  });

  it('gives an agent its own persona and its own tools', async () => {
    const one = await assembleFor(define(), 'one');
    const two = await assembleFor(define(), 'two');
    expect(one.assembly.tools.map((entry) => entry.tool.name)).toEqual(['Alpha', 'beta', 'gamma']);
    expect(two.assembly.tools.map((entry) => entry.tool.name)).toEqual(['beta']);
    expect(render(two.assembly).text).toContain('Persona two.');
  });

  it("lets a session's persona shadow the deployment's, in the same place", async () => {
    const { assembly } = await assembleFor(define(), 'one', 'A persona of this session.');
    const persona = assembly.sections.filter((section) => section.name === 'deployment:persona');
    expect(persona.map(({ owner, text }) => [owner, text])).toEqual([
      ['session', 'A persona of this session.'],
    ]);
  });

  it('lets listeners filter, drop the identity and declare a late fact, which is theirs', async () => {
    const listener = plugin('late', {
      onAssemble(assembly) {
        assembly.sections = assembly.sections.filter((section) => section.name !== 'harness:identity');
        assembly.variables.model = 'another';
        assembly.variables.late_fact = 'yes';
      },
    });
    const definition = define();
    const { assembly, variableOwners } = await assembleFor(
      { ...definition, plugins: [...definition.plugins, listener] },
      'one',
    );
    expect(render(assembly).text).toBe('Persona one on another.');
    expect(variableOwners).toMatchObject({ model: 'late', late_fact: 'late', cwd: 'loop' });
  });

  it('fails for an agent that names a tool which nobody registers', async () => {
    const agents: DeploymentDefinition['agents'] = [
      { name: 'one', model: 'offline/instant', persona: '', tools: ['nobodys_tool'] },
    ];
    await expect(assembleFor(define({ agents }), 'one')).rejects.toThrow('nobodys_tool');
  });
});

describe('a deployment', () => {
  it('refuses two agents or providers of one name, and routes that lead nowhere', () => {
    const [one] = define().agents;
    expect(codeOf(() => resolveDeployment(define({ agents: [one, one] })))).toBe('registry_duplicate');
    expect(codeOf(() => resolveDeployment(define({ providers: [offline(), offline()] })))).toBe(
      'registry_duplicate',
    );
    expect(codeOf(() => resolveDeployment(define({ agents: [{ ...one, model: 'nowhere/x' }] })))).toBe(
      'unknown_model',
    );
    expect(codeOf(() => resolveDeployment(define({ agents: [{ ...one, model: 'no-slash' }] })))).toBe(
      'unknown_model',
    );
    expect(codeOf(() => resolveDeployment(define({ defaultAgent: 'nobody' })))).toBe('unknown_agent');
  });
});
