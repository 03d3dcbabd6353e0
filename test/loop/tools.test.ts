import { expect, it } from 'vitest';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

async function runCalls(agent: string, calls: { id: string; name: string; arguments: string }[]) {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ tool_calls: calls }, { text: 'after' }]);
  const session = await perch.open({ agent, model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'go');
  return {
    answer,
    results: await perch.events(session, 'tool/result'),
    events: await perch.events(session),
    model,
  };
}

it('answers every bad call with a result of a stable code, and the turn goes on', async () => {
  const { answer, results } = await runCalls('stand-in', [
    { id: 'a', name: 'broken', arguments: '{}' },
    { id: 'b', name: 'slow', arguments: '{}' },
    { id: 'c', name: 'nobodys_tool', arguments: '{}' },
    { id: 'd', name: 'echo', arguments: '{"txt":1}' },
    { id: 'e', name: 'echo', arguments: '{"text": "cut' },
    { id: 'f', name: 'echo', arguments: '[1]' },
    { id: 'g', name: 'current_time', arguments: '{"time_zone":"Nowhere/Atall"}' },
  ]);
  expect(answer).toMatchObject({ text: 'after', reason: { kind: 'completed' } });
  expect(results.map(({ call, error }) => [call, error])).toEqual([
    ['a', 'tool_failed'],
    ['b', 'tool_timeout'],
    ['c', 'unknown_tool'],
    ['d', 'invalid_arguments'],
    ['e', 'invalid_arguments'],
    ['f', 'invalid_arguments'],
    ['g', 'tool_failed'],
  ]);
  expect(JSON.stringify(results[3]?.content)).toContain('text');
});

it('offers an agent only its own tools, and refuses the others', async () => {
  const { results, model } = await runCalls('narrow', [
    { id: 'a', name: 'effect', arguments: '{"text":"x"}' },
  ]);
  expect(results[0]).toMatchObject({ error: 'unknown_tool' });
  const [request] = await models.requests(model);
  expect(
    JSON.parse(request?.body ?? '{}').tools.map((tool: { function: { name: string } }) => tool.function.name),
  ).toEqual(['echo']);
});

it('logs a start before a result, and results in the order of the model', async () => {
  const { events } = await runCalls('stand-in', [
    { id: 'a', name: 'echo', arguments: '{"text":"1"}' },
    { id: 'b', name: 'echo', arguments: '{"text":"2"}' },
    { id: 'c', name: 'effect', arguments: '{"text":"3"}' },
    { id: 'd', name: 'echo', arguments: '{"text":"4"}' },
  ]);
  const order = events
    .filter(({ type }) => type.startsWith('tool/'))
    .map(({ type, call }) => `${type.slice(5)} ${call}`);
  expect(order).toEqual([
    'call a',
    'call b',
    'result a',
    'result b',
    'call c',
    'result c',
    'call d',
    'result d',
  ]);
});

it('ends a turn that wants more steps than its agent may take, as its budget', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ tool_calls: [{ id: 'x', name: 'echo', arguments: '{"text":"again"}' }] }], {
    repeat: true,
  });
  const session = await perch.open({ agent: 'short', model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'loop');
  expect(answer.reason).toEqual({ kind: 'budget', budget: 'steps', scope: 'turn', limit: 2, used: 2 });
  expect(await models.requests(model)).toHaveLength(2);
});

it('makes each request a byte prefix of the next one, so that a cached prefix is billed as cached', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { tool_calls: [{ id: 'a', name: 'echo', arguments: '{"text":"1"}' }] },
    { text: 'one' },
    { tool_calls: [{ id: 'b', name: 'effect', arguments: '{"text":"2"}' }] },
    { text: 'two' },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.ask(session, 'first');
  await perch.ask(session, 'second');
  const bodies = (await models.requests(model)).map(({ body }) => JSON.parse(body));
  expect(bodies).toHaveLength(4);
  for (const [i, body] of bodies.entries()) {
    const before = bodies[i - 1];
    if (!before) continue;
    expect(body.tools).toEqual(before.tools);
    const ours = JSON.stringify(before.messages).slice(0, -1);
    expect(JSON.stringify(body.messages).startsWith(ours)).toBe(true);
  }
});
