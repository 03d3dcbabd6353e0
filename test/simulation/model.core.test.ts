import { describe, expect, it } from 'vitest';
import type { EventBody, LogEvent, Seq } from '../../durable/transcript/events.ts';
import { checkLog } from './check-log.ts';
import { checkPrompt } from './check-prompt.ts';
import { LIMITS } from './cost-model.ts';
import { makeScenario } from './operations.ts';
import type { Problem } from './problems.ts';
import { shrinkScenario } from './shrink.ts';

const usage = { input: 3, input_cached: 0, input_cache_write: 0, output: 2, reasoning: 0 };
const said = (id: string) => ({
  id: id as never,
  role: 'user' as const,
  source: { kind: 'user' as const },
  content: [{ type: 'text' as const, text: 'hello' }],
});

/** A turn of one step as the service writes it, at one moment. */
const TURN: readonly EventBody[] = [
  { type: 'session/created', agent: 'free', model: null, cwd: '/', metadata: {}, persona: null },
  {
    type: 'inbox/admitted',
    message: 'a' as never,
    delivery: 'followup',
    source: { kind: 'user' },
    wakes: true,
  },
  { type: 'turn/start', turn: 1 },
  { type: 'step/start', turn: 1, step: 1, claimed: ['a' as never] },
  { type: 'user/message', turn: 1, step: 1, message: said('a'), surface: 'append' },
  {
    type: 'request/attempt',
    turn: 1,
    step: 1,
    attempt: 1,
    digest: '',
    reserved: { tokens: 9, micro_usd: 30 },
  },
  {
    type: 'assistant/message',
    turn: 1,
    step: 1,
    attempt: 1,
    content: [{ type: 'text', text: 'hi' }],
    finish: 'stop',
    usage,
    model: 'a',
    surface: 'append',
  },
  { type: 'step/end', turn: 1, step: 1 },
  {
    type: 'turn/end',
    turn: 1,
    steps: 1,
    reason: { kind: 'completed' },
    usage,
    receipt: {
      attempts: 1,
      tool_calls: 0,
      restarts: 0,
      rows_written: 0,
      ms: 0,
      model_ms: 0,
      tools_ms: 0,
      harness_ms: 0,
      charge: { tokens: 5, micro_usd: 22 },
    },
  },
];

function check(bodies: readonly EventBody[]): Problem[] {
  const problems: Problem[] = [];
  const events = bodies.map((body, i): LogEvent => ({ ...body, seq: (i + 1) as Seq, at: 1 }));
  checkLog(events, LIMITS.free, [], (kind, text) => void problems.push({ kind, text }));
  return problems;
}
const without = (type: EventBody['type']) => TURN.filter((body) => body.type !== type);
const twice = (type: EventBody['type']) =>
  TURN.flatMap((body) => (body.type === type ? [body, body] : [body]));

describe('the model of a log', () => {
  it('accepts a turn as it should be', () => {
    expect(check(TURN)).toEqual([]);
  });

  it('calls it lost when a claimed message is not said', () => {
    expect(check(without('user/message')).map(({ kind }) => kind)).toContain('lost');
  });

  it('calls it doubled when a message is admitted, said or answered twice', () => {
    for (const type of ['inbox/admitted', 'user/message', 'assistant/message'] as const) {
      expect(
        check(twice(type)).map(({ kind }) => kind),
        type,
      ).toContain('doubled');
    }
  });

  it.each(['turn/start', 'step/start', 'request/attempt', 'step/end', 'inbox/admitted'] as const)(
    'misses a %s that is not there',
    (type) => {
      expect(check(without(type))).not.toEqual([]);
    },
  );

  it('finds a charge that is not what the answers cost', () => {
    const wrong = TURN.map((body) =>
      body.type === 'assistant/message' ? { ...body, usage: { ...usage, output: 7 } } : body,
    );
    expect(check(wrong)).not.toEqual([]);
  });
});

describe('the model of a provider', () => {
  const call = {
    role: 'assistant' as const,
    content: [{ type: 'tool-call' as const, toolCallId: 'c', toolName: 'once', input: {} }],
  };
  const result = {
    role: 'tool' as const,
    content: [
      {
        type: 'tool-result' as const,
        toolCallId: 'c',
        toolName: 'once',
        output: { type: 'text' as const, value: '' },
      },
    ],
  };
  const user = { role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] };
  const system = { role: 'system' as const, content: 'You are simulated.' };

  it('accepts a call with its result', () => {
    expect(checkPrompt([system, user, call, result])).toEqual([]);
  });

  it('refuses a call without a result, a result without a call, and two results', () => {
    expect(checkPrompt([system, user, call])).not.toEqual([]);
    expect(checkPrompt([system, user, call, user, result])).not.toEqual([]);
    expect(checkPrompt([system, user, result])).not.toEqual([]);
    expect(checkPrompt([system, user, call, result, result])).not.toEqual([]);
  });
});

describe('a failing scenario', () => {
  it('is shrunk to the operations that it takes', async () => {
    const scenario = makeScenario(7);
    const needed = [scenario.operations[1]?.id, scenario.operations.at(-2)?.id];
    const run = ({ operations }: typeof scenario): Promise<Problem[]> => {
      const fails = needed.every((id) => operations.some((operation) => operation.id === id));
      return Promise.resolve(
        fails ? [{ kind: 'lost', text: 'gone' }] : [{ kind: 'wrong', text: 'another one' }],
      );
    };
    const shrunk = await shrinkScenario({ scenario, problems: await run(scenario) }, run);
    expect(shrunk.scenario.operations.map(({ id }) => id)).toEqual(needed);
  });

  it('is the same again from its seed', () => {
    expect(makeScenario(11)).toEqual(makeScenario(11));
  });
});
