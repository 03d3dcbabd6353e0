/**
 * What a turn and its session may use up. All of it is counted from the log and from the state row, so that a crash
 * resets nothing: reserved in the commit that counts a request, settled in the one that has its answer. Pure.
 */
import type { Budget, Price } from '../plugins.ts';
import type { ModelOptions } from '../prompt/index.ts';
import type { Limits, Spend } from '../rpc.ts';
import {
  addCharge,
  type BudgetKind,
  type Charge,
  type TurnEndReason,
  type TurnState,
  type Usage,
} from '../transcript/index.ts';

/** Model requests in one turn where the agent names no limit of its own. */
const DEFAULT_STEPS = 50;
/** What an answer is taken to need where the call does not limit it: what follows is settled after it. */
const DEFAULT_OUTPUT_TOKENS = 4_096;
const KINDS: readonly BudgetKind[] = ['steps', 'tool_calls', 'wall_ms', 'tokens', 'micro_usd'];

export interface SessionLimits {
  turn: Limits;
  session: Limits;
}

export type BudgetReason = Extract<TurnEndReason, { kind: 'budget' }>;

/** Carries the reason to the turn's end: as an error, and as what fired a turn's signal. */
export class BudgetExhausted extends Error {
  readonly reason: BudgetReason;
  constructor(reason: BudgetReason) {
    super(`the budget of ${reason.budget} is used up`);
    this.name = 'BudgetExhausted';
    this.reason = reason;
  }
}

export function resolveLimits(budgets: { turn?: Budget; session?: Budget } = {}): SessionLimits {
  const turn = toLimits(budgets.turn ?? {});
  return { turn: { ...turn, steps: turn.steps ?? DEFAULT_STEPS }, session: toLimits(budgets.session ?? {}) };
}

function toLimits({ steps, toolCalls, wallMs, tokens, usd }: Budget): Limits {
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
    ...(wallMs === undefined ? {} : { wall_ms: wallMs }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(usd === undefined ? {} : { micro_usd: usd * 1_000_000 }),
  };
}

/** What the open turn has used up at `now`, an outstanding reservation included. */
export function spendOfTurn(state: TurnState, now: number): Spend {
  const charged = state.pending ? addCharge(state.charged, state.pending) : state.charged;
  return {
    steps: state.step,
    tool_calls: state.toolCalls,
    wall_ms: Math.max(0, now - state.startedAt - waitedOf(state, now)),
    ...charged,
  };
}

export function addSpend(a: Spend, b: Spend): Spend {
  return {
    steps: a.steps + b.steps,
    tool_calls: a.tool_calls + b.tool_calls,
    wall_ms: a.wall_ms + b.wall_ms,
    ...addCharge(a, b),
  };
}

function waitedOf({ clock }: TurnState, now: number): number {
  return clock.waitedMs + (clock.waitedSince === null ? 0 : now - clock.waitedSince);
}

/** The first budget that does not hold what comes; null where all do. `ended` is of the turns before this one. */
export function findExhausted(
  limits: SessionLimits,
  turn: Spend,
  ended: Spend,
  coming: Partial<Spend>,
): BudgetReason | null {
  const spent = { turn, session: addSpend(ended, turn) };
  for (const scope of ['turn', 'session'] as const) {
    for (const budget of KINDS) {
      const limit = limits[scope][budget];
      if (limit === undefined) continue;
      const used = spent[scope][budget] ?? 0;
      const more = coming[budget] ?? 0;
      // Time is never reserved: it is up when the limit is reached.
      if (used + more > limit || (budget === 'wall_ms' && used >= limit)) {
        return { kind: 'budget', budget, scope, limit, used };
      }
    }
  }
  return null;
}

/** How long the turn may go on from here, and by which budget; null where nothing limits it. */
export function findDeadline(
  limits: SessionLimits,
  turn: Spend,
  ended: Spend,
): { ms: number; reason: BudgetReason } | null {
  const both = addSpend(ended, turn);
  const deadlines = [
    { scope: 'turn' as const, limit: limits.turn.wall_ms, used: turn.wall_ms },
    { scope: 'session' as const, limit: limits.session.wall_ms, used: both.wall_ms },
  ].flatMap(({ scope, limit, used }) =>
    limit === undefined
      ? []
      : [
          {
            ms: Math.max(0, limit - used),
            reason: { kind: 'budget' as const, budget: 'wall_ms' as const, scope, limit, used: limit },
          },
        ],
  );
  return deadlines.sort((a, b) => a.ms - b.ms)[0] ?? null;
}

/** How many more tool calls there is room for. */
export function countFreeCalls(limits: SessionLimits, turn: Spend, ended: Spend): number {
  const free = (limit: number | undefined, used: number): number =>
    limit === undefined ? Infinity : limit - used;
  return Math.max(
    0,
    Math.min(
      free(limits.turn.tool_calls, turn.tool_calls),
      free(limits.session.tool_calls, ended.tool_calls + turn.tool_calls),
    ),
  );
}

/** What a request may cost at most, by an estimate of what goes in: set aside before it is sent. */
export function reserve(inputTokens: number, options: ModelOptions, price: Price | undefined): Charge {
  const output = options.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS;
  return {
    tokens: inputTokens + output,
    micro_usd: price ? inputTokens * price.input + output * price.output : null,
  };
}

/** What an answer cost. US dollars for a million tokens are millionths of a dollar for one. */
export function settle(usage: Usage, price: Price | undefined): Charge {
  const tokens = Math.round(usage.input + usage.output);
  if (!price) return { tokens, micro_usd: null };
  const { input, output, inputCached = input, inputCacheWrite = input } = price;
  const fresh = Math.max(0, usage.input - usage.input_cached - usage.input_cache_write);
  return {
    tokens,
    micro_usd:
      fresh * input +
      usage.input_cached * inputCached +
      usage.input_cache_write * inputCacheWrite +
      usage.output * output,
  };
}
