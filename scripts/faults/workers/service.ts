/** The worker as it is, over a deployment whose one tool has an effect that a server outside counts. */
import { env } from 'cloudflare:workers';
import { z } from 'zod';
import { resolveDeployment } from '../../../durable/composition.ts';
import { openaiCompatible } from '../../../durable/models/index.ts';
import { defineDeployment } from '../../../durable/plugins.ts';
import { defineSession } from '../../../durable/session.ts';
import { defineTool } from '../../../durable/tools/index.ts';
import { createApp } from '../../../worker/app.ts';

export { Directory } from '../../../durable/directory.ts';

const { MODEL_SERVER } = z.object({ MODEL_SERVER: z.string() }).parse(env);

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks a key up, and counts that it did.',
  input: z.strictObject({ key: z.string() }),
  async run({ key }, { session, call }) {
    const response = await fetch(`${MODEL_SERVER}/effects`, {
      method: 'POST',
      body: JSON.stringify({ session: session.id, call }),
    });
    if (!response.ok) throw new Error(`the counter answered ${response.status}`);
    return `looked up: ${key}`;
  },
});

const deployment = resolveDeployment(
  defineDeployment({
    agents: [
      {
        name: 'assistant',
        model: 'stand-in/calls-0',
        persona: 'You look things up.',
        tools: 'all',
        budgets: { turn: { steps: 10_000 } },
      },
    ],
    plugins: [{ name: 'counted', tools: [lookUp] }],
    providers: [openaiCompatible({ name: 'stand-in', baseUrlVar: 'MODEL_SERVER' })],
    retry: { attempts: 6, baseMs: 50, capMs: 500 },
  }),
);

export class Session extends defineSession(deployment) {}

export default createApp(deployment);
