/** What the measured service is deployed with: an agent as a team would have it, with the usual plugins. */
import { z } from 'zod';
import { openaiCompatible } from '../../../durable/models/index.ts';
import { defineDeployment, type Plugin } from '../../../durable/plugins.ts';
import { skillsPlugin } from '../../../durable/skills/index.ts';
import { defineTool, timeTools } from '../../../durable/tools/index.ts';
import { lookUp } from '../lookup.ts';
import { instantProvider } from './instant-provider.ts';

const catalogue: Plugin = {
  name: 'catalogue',
  tools: [
    defineTool({
      name: 'look_up',
      description:
        'Returns the entry of the service catalogue for a key: its owner, its tier and its run book. Use it before ' +
        'you say anything about a service.',
      input: z.strictObject({ key: z.string().describe('The key of a service, for example payments-17') }),
      parallelSafe: true,
      idempotent: true,
      run: ({ key }) => lookUp(key),
    }),
  ],
  sections: [
    {
      name: 'catalogue:guidance',
      order: 120,
      text: 'Name the key of the catalogue entry beside each fact that you take from it.',
    },
  ],
};

export const benchDeployment = defineDeployment({
  agents: [
    {
      name: 'assistant',
      model: 'stand-in/calls-0',
      persona:
        'You are the assistant of an engineering team that runs some forty services. You answer questions about ' +
        'them from the service catalogue and from what you are told in the conversation, never from memory. ' +
        'Answer briefly and concretely, say what you are unsure of, and ask when a request can be read in two ' +
        'ways. During an incident put what to do next first and the explanation after it. You are answered by ' +
        '{{model}} of {{provider}}.',
      tools: 'all',
      budgets: { turn: { steps: 5_000 } },
    },
  ],
  plugins: [timeTools, catalogue, skillsPlugin],
  providers: [openaiCompatible({ name: 'stand-in', baseUrlVar: 'MODEL_SERVER' }), instantProvider],
});
