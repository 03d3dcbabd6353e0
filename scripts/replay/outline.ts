/** A session's log as people tell it: turns, their steps, and in each what the model was told and what came of it. Pure. */
import {
  addCharge,
  type Charge,
  type ContentBlock,
  type LogEvent,
  type LogEventOf,
  NO_CHARGE,
  type RequestHeader,
  type TurnEndReason,
  type UserMessage,
} from '../../durable/transcript/index.ts';
import { withoutLost } from './log-places.ts';

export interface CallOutline {
  name: string;
  input: unknown;
  /** What the model was told; null where there is no result. */
  result: string | null;
  error: string | null;
}

export interface StepOutline {
  step: number;
  header: RequestHeader | null;
  /** What was claimed and what was injected, in order. */
  messages: UserMessage[];
  claimed: string[];
  /** What each request came to: `failed <code>`, `answered`, `stopped`. */
  requests: string[];
  /** Of the newest request: all that the model was asked with. */
  digest: string | null;
  answer: LogEventOf<'assistant/message'> | null;
  calls: CallOutline[];
}

export interface TurnOutline {
  turn: number;
  steps: StepOutline[];
  /** Messages that no step took in. */
  untaken: UserMessage[];
  reason: TurnEndReason | null;
  tokens: number;
  charge: Charge;
}

/** Of the turns that began behind `from`, or went on there. */
export function outlineSession(events: readonly LogEvent[], from = 1): TurnOutline[] {
  const turns: TurnOutline[] = [];
  let header: RequestHeader | null = null;
  let isBehind = from <= 1;
  for (const event of withoutLost(events)) {
    isBehind ||= event.seq > from;
    if (event.type === 'request/header') header = event.header;
    if (!isBehind || !('turn' in event)) continue;
    const known = turns.at(-1);
    const turn = known?.turn === event.turn ? known : addTurn(turns, event.turn);
    addToTurn(turn, event, header);
  }
  return turns;
}

function addTurn(turns: TurnOutline[], turn: number): TurnOutline {
  const added: TurnOutline = { turn, steps: [], untaken: [], reason: null, tokens: 0, charge: NO_CHARGE };
  turns.push(added);
  return added;
}

type TurnEvent = Extract<LogEvent, { turn: number }>;

function addToTurn(turn: TurnOutline, event: TurnEvent, header: RequestHeader | null): void {
  if (event.type === 'turn/end') {
    turn.reason = event.reason;
    return;
  }
  if (event.type === 'user/message' && event.step === undefined) {
    turn.untaken.push(event.message);
    return;
  }
  if (!('step' in event) || event.step === undefined) return;
  const known = turn.steps.at(-1);
  const step = known?.step === event.step ? known : addStep(turn, event.step);
  if (event.type === 'assistant/message') {
    turn.tokens += event.usage.input + event.usage.output;
    const tokens = event.usage.input + event.usage.output;
    turn.charge = addCharge(turn.charge, event.charge ?? { tokens, micro_usd: null });
  }
  addToStep(step, event, header);
}

function addStep(turn: TurnOutline, step: number): StepOutline {
  const added: StepOutline = {
    step,
    header: null,
    messages: [],
    claimed: [],
    requests: [],
    digest: null,
    answer: null,
    calls: [],
  };
  turn.steps.push(added);
  return added;
}

function addToStep(step: StepOutline, event: TurnEvent, header: RequestHeader | null): void {
  switch (event.type) {
    case 'step/start':
      step.claimed = event.claimed;
      return;
    case 'user/message':
      step.messages.push(event.message);
      return;
    case 'request/attempt':
      step.header = header;
      step.digest = event.digest;
      step.requests.push('unanswered');
      return;
    case 'request/failed':
      step.requests.splice(
        -1,
        1,
        `failed ${event.error.code}${event.retry_at === null ? '' : ', asked again'}`,
      );
      return;
    case 'assistant/message':
      step.requests.splice(-1, 1, event.interrupted ? 'stopped' : 'answered');
      step.answer = event;
      step.calls = event.content.flatMap((block) =>
        block.type === 'tool-call'
          ? [{ name: block.name, input: block.malformed ?? block.input, result: null, error: null }]
          : [],
      );
      return;
    case 'tool/result':
      settleCall(step, event);
      return;
    default:
  }
}

function settleCall(step: StepOutline, event: LogEventOf<'tool/result'>): void {
  const blocks = step.answer?.content.filter((block) => block.type === 'tool-call') ?? [];
  const call = step.calls[blocks.findIndex(({ id }) => id === event.call)];
  if (!call) return;
  call.result = showContent(event.content);
  call.error = event.error ?? null;
}

/** As text: bytes by their digest. */
export function showContent(content: readonly ContentBlock[]): string {
  return content
    .map((block) =>
      block.type === 'text' ? block.text : `[${block.type} ${block.media_type} ${block.blob}]`,
    )
    .join('\n');
}

export function showAnswer(answer: StepOutline['answer']): string {
  const text = answer?.content.map((block) => (block.type === 'text' ? block.text : '')).join('') ?? '';
  return text.trim();
}

export function showReason(reason: TurnEndReason | null): string {
  if (!reason) return 'no end';
  switch (reason.kind) {
    case 'error':
      return `error ${reason.error.code}: ${reason.error.message}`;
    case 'blocked':
      return `blocked by ${reason.by}: ${reason.message}`;
    case 'aborted':
      return `aborted by ${reason.by}`;
    case 'interrupted':
      return `interrupted: ${reason.message}`;
    case 'budget':
      return `budget ${reason.budget} of the ${reason.scope}: ${reason.limit}`;
    default:
      return reason.kind;
  }
}
