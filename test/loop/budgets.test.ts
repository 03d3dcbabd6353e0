/** What a turn and a session may use up, and what they are told of it. */
import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createPerch, models, sessionStub, uniqueModel } from '../support/perch.ts';

const call = (id: string, text = id) => ({ id, name: 'echo', arguments: JSON.stringify({ text }) });

it('runs the calls that the budget has room for, answers the rest, and ends the turn', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { tool_calls: [call('a'), call('b'), call('c')] },
    { tool_calls: [call('d'), call('e')] },
  ]);
  const session = await perch.open({ agent: 'few-calls', model: `stand-in/${model}` });
  expect((await perch.ask(session, 'go')).reason).toEqual({
    kind: 'budget',
    budget: 'tool_calls',
    scope: 'turn',
    limit: 2,
    used: 2,
  });
  const results = await perch.events(session, 'tool/result');
  expect(results).toMatchObject([{ call: 'a' }, { call: 'b' }, { call: 'c', error: 'TOOL_NOT_STARTED' }]);
  expect(JSON.stringify(results[2])).toContain('budget was used up');
  // One call is left to the session.
  expect((await perch.ask(session, 'again')).reason).toMatchObject({
    budget: 'tool_calls',
    scope: 'session',
    used: 3,
  });
  expect((await perch.events(session, 'tool/result')).slice(3)).toMatchObject([
    { call: 'd' },
    { call: 'e', error: 'TOOL_NOT_STARTED' },
  ]);
  const view = await (await perch.request('GET', `/v1/sessions/${session}`)).json();
  expect(view).toMatchObject({
    spent: { turn: null, session: { tool_calls: 3, steps: 2 } },
    budgets: { turn: { tool_calls: 2, steps: 50 }, session: { tool_calls: 3 } },
  });
});

it('reserves tokens before a request, settles them after it, and refuses what does not fit', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    { text: 'short', usage: { input: 900, output: 50 } },
    { tool_calls: [call('a')], usage: { input: 1_200, output: 50 } },
    { text: 'never said' },
  ]);
  const session = await perch.open({ agent: 'few-tokens', model: `stand-in/${model}` });
  const first = await perch.ask(session, 'hello');
  expect(first.reason).toEqual({ kind: 'completed' });
  const [attempt] = await perch.events(session, 'request/attempt');
  expect(attempt).toMatchObject({ reserved: { micro_usd: null } });
  expect(await perch.events(session, 'turn/end')).toMatchObject([{ receipt: { charge: { tokens: 950 } } }]);
  const second = await perch.ask(session, 'x'.repeat(2_400));
  // 1,250 are used; the next request would take more than the turn has left.
  expect(second.reason).toMatchObject({
    kind: 'budget',
    budget: 'tokens',
    scope: 'turn',
    limit: 2_000,
    used: 1_250,
  });
  expect(await models.requests(model)).toHaveLength(2);
  const view = await (await perch.request('GET', `/v1/sessions/${session}`)).json();
  expect(view).toMatchObject({ spent: { session: { tokens: 2_200 } } });
});

it('keeps what a turn without a budget was told, and lets no later turn spend what the session has not', async () => {
  const perch = await createPerch();
  await models.script('priced', [
    { text: 'dear', usage: { input: 500, output: 930 } },
    { text: 'never said' },
  ]);
  const session = await perch.open({ agent: 'thrifty' });
  expect((await perch.ask(session, 'hello')).reason).toEqual({ kind: 'completed' });
  // 500 tokens in at 1 and 930 out at 10 US dollars a million.
  expect(await perch.events(session, 'turn/end')).toMatchObject([
    { receipt: { charge: { micro_usd: 9_800 } } },
  ]);
  const second = await perch.ask(session, 'once more');
  expect(second.reason).toMatchObject({
    kind: 'budget',
    budget: 'micro_usd',
    scope: 'session',
    limit: 10_000,
    used: 9_800,
  });
  expect(await models.requests('priced')).toHaveLength(1);
  // The message is said, and no step took it.
  const said = await perch.events(session, 'user/message');
  expect(JSON.stringify(said.at(-1))).toContain('once more');
  // A restart resets nothing.
  await abortAllDurableObjects();
  expect((await perch.ask(session, 'and again')).reason).toMatchObject({ kind: 'budget', used: 9_800 });
});

it('takes no session whose model has no price where the agent has a budget of money', async () => {
  const perch = await createPerch();
  const response = await perch.request('POST', '/v1/sessions', {
    agent: 'thrifty',
    model: 'stand-in/unpriced',
  });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ code: 'budget_not_priced' });
});

it('stops a model that takes more than the wall time, and keeps what the person saw', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'one two three four five six seven eight', deltas: 8, delay_ms: 100 }]);
  const session = await perch.open({ agent: 'hasty', model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'hello');
  expect(answer.reason).toMatchObject({ kind: 'budget', budget: 'wall_ms', scope: 'turn', limit: 400 });
  const [message] = await perch.events(session, 'assistant/message');
  expect(message).toMatchObject({ interrupted: true });
  expect(answer.text.startsWith('one')).toBe(true);
});

it('counts a request that a restart cut off as spent, and never twice', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  const gate = uniqueModel();
  await models.script(model, [
    { text: 'cut off', gate, gate_after: 2 },
    { text: 'whole', usage: { input: 40, output: 10 } },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.post(session, { text: 'hello' });
  await models.reached(gate);
  await abortAllDurableObjects();
  await runDurableObjectAlarm(sessionStub(perch, session));
  await models.release(gate);
  await expect.poll(() => perch.events(session, 'turn/end')).toHaveLength(1);
  const [attempt] = await perch.events(session, 'request/attempt');
  const { tokens } = z.object({ tokens: z.number() }).parse(attempt?.reserved);
  const [end] = await perch.events(session, 'turn/end');
  expect(end).toMatchObject({ receipt: { attempts: 2, restarts: 1, charge: { tokens: tokens + 50 } } });
});
