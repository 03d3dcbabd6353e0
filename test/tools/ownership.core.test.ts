/** One owner per fact: a package of tools that is taken out leaves no word behind, and changes no byte of another's. */
import { describe, expect, it } from 'vitest';
import { resolveDeployment } from '../../durable/composition.ts';
import { deployment } from '../../durable/deployment.ts';
import { type PromptView, previewPrompt } from '../../durable/prompt/index.ts';
import { NO_SKILLS } from './no-skills.ts';

const packages = deployment.plugins.filter(
  ({ tools = [] }) => tools.length > 0 && tools.every(({ available }) => !available),
);

function preview(without: string | null, tools: string[] | 'all' = 'all'): Promise<PromptView> {
  const [first] = deployment.agents;
  const { toolOrder: _, ...rest } = deployment;
  const resolved = resolveDeployment({
    ...rest,
    agents: [{ ...first, tools }],
    plugins: deployment.plugins.filter(({ name }) => name !== without),
  });
  const request = { agent: null, model: null, cwd: null, persona: null, text: null };
  return previewPrompt(resolved, { ...request, skills: NO_SKILLS });
}

const pick = ({ section_texts, tool_schemas }: PromptView, owner: string, owned: ReadonlySet<string>) => ({
  sections: section_texts.filter((section) => section.owner !== owner),
  tools: tool_schemas.filter(({ name }) => !owned.has(name)),
});

describe.each(packages.map((plugin) => [plugin.name, plugin] as const))(
  'the package %s',
  (name, { tools = [] }) => {
    const names = new Set(tools.map((tool) => tool.name));

    it('leaves no word behind when it is taken out, and no byte changed elsewhere', async () => {
      const [whole, without] = [await preview(null), await preview(name)];
      expect(without.section_texts.some(({ owner }) => owner === name)).toBe(false);
      expect(without.tool_schemas.some((tool) => names.has(tool.name))).toBe(false);
      expect(pick(without, name, names)).toEqual(pick(whole, name, names));
      // Names that are no ordinary words are named by nobody else: not in a section, not in another tool's description.
      const everything = JSON.stringify([without.system_text, without.tool_schemas]);
      for (const tool of names) if (/_|^(?:bash|todo)$/.test(tool)) expect(everything).not.toContain(tool);
    });

    it('gives its guidance only where one of its tools is offered', async () => {
      const others = packages
        .filter((plugin) => plugin.name !== name)
        .flatMap((plugin) => plugin.tools ?? []);
      const view = await preview(
        null,
        others.map((tool) => tool.name),
      );
      expect(view.section_texts.filter(({ owner }) => owner === name)).toEqual([]);
    });
  },
);

it('looks at every package of the deployment that always offers its tools', () => {
  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['files', 'shell', 'todo', 'people', 'time']),
  );
});
