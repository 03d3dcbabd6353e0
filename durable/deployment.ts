/**
 * What a deployer edits: agents, personas, models, plugins, the order of tools. `npm run check` renders every agent,
 * so a mistake in here is found before a user meets it.
 */
import { STANDARD_PROVIDERS } from './models/index.ts';
import { defineDeployment } from './plugins.ts';
import { skillsPlugin } from './skills/index.ts';
import { fileTools } from './tools/files/index.ts';
import { peopleTools, shellTools, timeTools, todoTools } from './tools/index.ts';
import { webTools } from './tools/web/index.ts';

export const deployment = defineDeployment({
  defaultAgent: 'assistant',
  agents: [
    {
      name: 'assistant',
      // Runs without a key or a network. With a key: 'anthropic/claude-sonnet-4-5', 'openai/gpt-4.1', 'ollama/qwen3', …
      model: 'offline/demo',
      persona:
        'You are the assistant of an engineering team. Answer briefly and concretely, say what you are unsure of, ' +
        'and ask when a request can be read in two ways.',
      tools: 'all',
    },
    {
      name: 'editor',
      model: 'anthropic/claude-sonnet-4-5',
      options: { maxOutputTokens: 4_096, temperature: 0.3 },
      persona:
        'You are an editor. Improve the text that you are given: plain words, short sentences, the most important ' +
        'thing first. Keep facts, names and numbers exactly as they are.',
      tools: ['skill', 'skill_resource'],
      budgets: { turn: { steps: 10 } },
    },
  ],
  plugins: [timeTools, skillsPlugin, fileTools, shellTools, webTools(), todoTools(), peopleTools],
  providers: [...STANDARD_PROVIDERS],
  toolOrder: ['skill', '<unlisted-tools>'],
});
