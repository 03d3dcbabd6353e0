/** What requests cost, computed apart from the service. Both models of the simulation have one price. Pure. */
import type { Usage } from '../../durable/transcript/events.ts';
import type { AgentName } from './deployment.ts';

export interface Cost {
  tokens: number;
  micro_usd: number;
}

interface Limits {
  steps?: number;
  tool_calls?: number;
  wall_ms?: number;
  tokens?: number;
  micro_usd?: number;
}

export interface LimitsOfAgent {
  turn: Limits;
  session: Limits;
}

/** As in `deployment.ts`, in the log's units. */
export const LIMITS: Record<AgentName, LimitsOfAgent> = {
  free: { turn: {}, session: {} },
  short: { turn: { steps: 3, tool_calls: 4 }, session: { steps: 14 } },
  frugal: { turn: { tokens: 4_000 }, session: { tokens: 20_000 } },
  timed: { turn: { wall_ms: 15_000 }, session: { wall_ms: 90_000 } },
  poor: { turn: { micro_usd: 10_000 }, session: { micro_usd: 50_000, tool_calls: 9 } },
};

export const NO_COST: Cost = { tokens: 0, micro_usd: 0 };

export function answerCost({ input, output }: Usage): Cost {
  return { tokens: input + output, micro_usd: input * 2 + output * 8 };
}

export function addCost(...costs: readonly Cost[]): Cost {
  return costs.reduce(
    (sum, { tokens, micro_usd }) => ({ tokens: sum.tokens + tokens, micro_usd: sum.micro_usd + micro_usd }),
    NO_COST,
  );
}

/** Null where what was set aside is within the limits. */
export function overdraws(limits: LimitsOfAgent, turn: Cost, session: Cost): string | null {
  for (const kind of ['tokens', 'micro_usd'] as const) {
    for (const [scope, used] of [
      ['turn', turn],
      ['session', session],
    ] as const) {
      const limit = limits[scope][kind];
      if (limit !== undefined && used[kind] > limit) {
        return `${used[kind]} ${kind} of the ${scope} are set aside or spent, and ${limit} are allowed`;
      }
    }
  }
  return null;
}
