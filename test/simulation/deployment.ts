/** The deployment whose sessions are simulated: agents with and without budgets, lanes that wait and that refuse. */
import { type DeploymentDefinition, defineDeployment, type Plugin } from '../../durable/plugins.ts';
import { skillsPlugin } from '../../durable/skills/index.ts';
import { createProvider } from './models.ts';
import { createTools, type Effects } from './tools.ts';

export const AGENTS = ['free', 'short', 'frugal', 'timed', 'poor'] as const;
export type AgentName = (typeof AGENTS)[number];
export const STALL_MS = 12_000;
export const RETRY = { attempts: 4, baseMs: 400, capMs: 6_000, longestWaitMs: 30_000 };
/** A step that cannot be prepared in this time ends its turn. */
export const STEP_MS = 20_000;
/** What a message must hold to be refused by a lane. */
export const FORBIDDEN = 'forbidden';

export interface LaneTime {
  /** How long the lane of the step that is being prepared waits for something outside. */
  wait: () => Promise<void>;
}

export function describeDeployment(seed: number, effects: Effects, time: LaneTime): DeploymentDefinition {
  const guard: Plugin = {
    name: 'guard',
    // The third request of a step is another model's.
    onRequest(call, { attempt }) {
      if (attempt > 2) call.model = 'b';
    },
    sections: [{ name: 'guard:rules', order: 150, text: 'Answer as {{model}}.' }],
    lanes: [
      {
        lane: 'plugin',
        name: 'guard',
        async run({ claimed }) {
          await time.wait();
          const isRefused = claimed.some(({ content }) =>
            content.some((block) => block.type === 'text' && block.text.includes(FORBIDDEN)),
          );
          return isRefused ? { kind: 'reject', message: 'Not this.' } : { kind: 'enter', inject: [] };
        },
      },
    ],
  };
  const agent = { model: 'sim/a', persona: 'You are simulated.', tools: 'all' as const };
  const options = { maxOutputTokens: 60 };
  return defineDeployment({
    agents: [
      { name: 'free', ...agent },
      {
        name: 'short',
        ...agent,
        options,
        budgets: { turn: { steps: 3, toolCalls: 4 }, session: { steps: 14 } },
      },
      {
        name: 'frugal',
        ...agent,
        options,
        budgets: { turn: { tokens: 4_000 }, session: { tokens: 20_000 } },
      },
      {
        name: 'timed',
        ...agent,
        options,
        budgets: { turn: { wallMs: 15_000 }, session: { wallMs: 90_000 } },
      },
      {
        name: 'poor',
        ...agent,
        options,
        budgets: { turn: { usd: 0.01 }, session: { usd: 0.05, toolCalls: 9 } },
      },
    ],
    plugins: [createTools(effects), guard, skillsPlugin],
    providers: [createProvider(seed)],
    prices: { 'sim/a': { input: 2, output: 8 }, 'sim/b': { input: 2, output: 8 } },
    modelStallMs: STALL_MS,
    stepMs: STEP_MS,
    retry: RETRY,
  });
}
