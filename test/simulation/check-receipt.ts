/** What a turn's end tells of the turn, against what its events add up to. Pure. */
import type { LogEventOf, Usage } from '../../durable/transcript/events.ts';
import type { Cost } from './cost-model.ts';

export interface Totals {
  requests: number;
  toolCalls: number;
  cost: Cost;
}

export function checkReceipt(
  { receipt }: LogEventOf<'turn/end'>,
  open: Totals,
  ms: number,
  wrong: (text: string) => void,
): void {
  if (!receipt) {
    wrong('a turn ends without a receipt');
    return;
  }
  if (receipt.attempts !== open.requests) wrong(`${receipt.attempts} requests are told of ${open.requests}`);
  if (receipt.tool_calls !== open.toolCalls)
    wrong(`${receipt.tool_calls} calls are told of ${open.toolCalls}`);
  if (receipt.ms !== ms) wrong(`${receipt.ms} ms are told of ${ms}`);
  const parts = receipt.model_ms + receipt.tools_ms + receipt.harness_ms;
  if (Math.abs(parts - receipt.ms) > 1) wrong(`${parts} ms in parts of ${receipt.ms}`);
  const { tokens, micro_usd } = receipt.charge;
  if (tokens !== open.cost.tokens) wrong(`${tokens} tokens are charged for ${open.cost.tokens}`);
  if (Math.abs((micro_usd ?? -1) - open.cost.micro_usd) > 1e-6) {
    wrong(`${micro_usd} millionths are charged for ${open.cost.micro_usd}`);
  }
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    input_cached: a.input_cached + b.input_cached,
    input_cache_write: a.input_cache_write + b.input_cache_write,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}
