/** What the kill tests run: tools of every kind of promise, a lane that can be held, an agent that runs out of budget. */
import { z } from 'zod';
import { openaiCompatible } from '../../durable/models/index.ts';
import { type AgentDefinition, defineDeployment, type Plugin } from '../../durable/plugins.ts';
import { skillsPlugin } from '../../durable/skills/index.ts';
import { defineTool, type ToolContext } from '../../durable/tools/index.ts';
import { holdUntilReleased, tellOutside } from './outside.ts';
import { puppet } from './puppet.ts';

const input = z.strictObject({ text: z.string() });

async function act(tool: string, text: string, { session, call }: ToolContext): Promise<string> {
  await tellOutside({ session: session.id, effect: { tool, call, text } });
  return `done: ${text}`;
}

/** Tools that tell the outside what they do; those of them whose calls may run again under the same id. */
export const EFFECTFUL_TOOLS: ReadonlySet<string> = new Set(['effect', 'beside', 'held', 'again']);
export const IDEMPOTENT_TOOLS: ReadonlySet<string> = new Set(['again']);

/** In a person's words: the lane is held. */
export const HOLD_LANE = 'hold the lane';

const world: Plugin = {
  name: 'world',
  tools: [
    defineTool({
      name: 'effect',
      description: 'Has an effect that must not happen twice.',
      input,
      run: ({ text }, context) => act('effect', text, context),
    }),
    defineTool({
      name: 'beside',
      description: 'Has an effect that must not happen twice, and may run beside others.',
      input,
      parallelSafe: true,
      run: ({ text }, context) => act('beside', text, context),
    }),
    defineTool({
      name: 'again',
      description: 'Has an effect that may happen twice.',
      input,
      parallelSafe: true,
      idempotent: true,
      run: ({ text }, context) => act('again', text, context),
    }),
    defineTool({
      name: 'broken',
      description: 'Throws.',
      input: z.strictObject({}),
      run: () => Promise.reject(new Error('the tool broke')),
    }),
    defineTool({
      name: 'held',
      description: 'Has an effect and is held before it answers.',
      input,
      async run({ text }, context) {
        const done = await act('held', text, context);
        await holdUntilReleased(context.session.id, context.signal);
        return done;
      },
    }),
  ],
  lanes: [
    {
      lane: 'plugin',
      name: 'gate',
      async run({ claimed, session }) {
        const text = claimed
          .flatMap(({ content }) => content)
          .map((block) => ('text' in block ? block.text : ''));
        // It does not look at the signal: a part of the deployment that hangs.
        if (text.some((words) => words.includes(HOLD_LANE))) await holdUntilReleased(session.id, undefined);
        return { kind: 'enter', inject: [] };
      },
    },
  ],
};

function agent(name: string, more: Partial<AgentDefinition> = {}): AgentDefinition {
  return { name, persona: `You are the ${name} agent.`, model: 'puppet/nobody', tools: 'all', ...more };
}

export const faultsDeployment = defineDeployment({
  agents: [agent('keeper'), agent('frugal', { budgets: { turn: { steps: 2, toolCalls: 2 } } })],
  plugins: [world, skillsPlugin],
  providers: [puppet, openaiCompatible({ name: 'stand-in', baseUrlVar: 'MODEL_SERVER' })],
  modelStallMs: 120,
  retry: { attempts: 8, baseMs: 2, capMs: 8, longestWaitMs: 1_000 },
});
