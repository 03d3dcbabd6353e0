/** Budgets at work: looked at before anything is spent, and reserved in the commit that counts a request. */
import { budgetNotPriced } from '../errors.ts';
import type { BuiltHeader } from '../prompt/index.ts';
import type { Spend } from '../rpc.ts';
import type { Append, Charge, RequestHeader, TurnState, UserMessage } from '../transcript/index.ts';
import { BudgetExhausted, findExhausted, reserve, spendOfTurn } from './budgets.ts';
import type { LoopPorts } from './ports.ts';
import type { StepContext } from './prompt.ts';

export function openTurnOf(ports: Pick<LoopPorts, 'turn'>): TurnState {
  const state = ports.turn();
  if (!state) throw new Error('no turn is open');
  return state;
}

/** Throws `BudgetExhausted` where a budget does not hold what comes. */
export function checkBudget(ports: LoopPorts, coming: Partial<Spend>): void {
  const turn = spendOfTurn(openTurnOf(ports), ports.now());
  const reason = findExhausted(ports.budgets(), turn, ports.state.read().spent, coming);
  if (reason) throw new BudgetExhausted(reason);
}

/** What the request sets aside. Throws `BudgetExhausted`, and `budget_not_priced` for money without a price. */
export function reserveRequest(
  ports: LoopPorts,
  { call }: Pick<StepContext, 'call'>,
  header: RequestHeader,
  coming: readonly UserMessage[],
): Charge {
  const price = ports.priceOf(call.provider, call.model);
  const reserved = reserve(ports.prompts.measure(header, coming), call.options, price);
  if (reserved.micro_usd === null && wantsMoney(ports)) {
    const route = `${call.provider}/${call.model}`;
    throw budgetNotPriced(`There is a budget of money, and ${route} has no price.`, { route });
  }
  checkBudget(ports, { tokens: reserved.tokens, micro_usd: reserved.micro_usd });
  return reserved;
}

function wantsMoney(ports: LoopPorts): boolean {
  const { turn, session } = ports.budgets();
  return turn.micro_usd !== undefined || session.micro_usd !== undefined;
}

/** Part of the commit that counts a request, before it is sent: its header where that is new, and the attempt. */
export function beginAttempt(
  ports: LoopPorts,
  append: Append,
  request: {
    turn: number;
    step: number;
    attempt: number;
    /** Null where the log's newest is its header. */
    header: BuiltHeader | null;
    digest: string;
    reserved: Charge;
  },
): void {
  const { turn, step, attempt, header, digest, reserved } = request;
  if (header && !ports.headers.isLogged(header)) {
    ports.blobs.put(header.system);
    ports.blobs.put(header.toolsJson);
    const headerSeq = append({ type: 'request/header', turn, step, header: header.header });
    ports.state.write({ headerSeq });
    ports.headers.markLogged(header);
  }
  append({ type: 'request/attempt', turn, step, attempt, digest, reserved });
  ports.stream.begin(turn, step, attempt);
}
