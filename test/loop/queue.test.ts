import { expect, it } from 'vitest';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

it('takes a second prompt while the first runs, and answers both in order', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  const gate = uniqueModel();
  await models.script(model, [{ text: 'first answer', gate }, { text: 'second answer' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const first = perch.ask(session, 'first');
  await models.reached(gate);
  const queued = await perch.post(session, { text: 'second' });
  expect(queued.status).toBe(202);
  expect(await (await perch.request('GET', `/v1/sessions/${session}`)).json()).toMatchObject({
    status: 'running',
    queued: 1,
  });
  const third = perch.ask(session, 'third');
  await models.release(gate);
  expect((await first).text).toBe('first answer');
  expect((await third).turn).toBe(3);
  const texts = (await perch.events(session, 'user/message')).map(({ message }) => message);
  expect(texts.map((message) => JSON.stringify(message).match(/"text":"(\w+)"/)?.[1])).toEqual([
    'first',
    'second',
    'third',
  ]);
});

it('puts a steer into the running turn at its next step, and an inject without waking anybody', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  const gate = uniqueModel();
  await models.script(model, [{ text: 'one', gate }, { text: 'two' }, { text: 'three' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const asked = perch.ask(session, 'start');
  await models.reached(gate);
  await perch.post(session, { text: 'mind this', delivery: 'steer' });
  await models.release(gate);
  expect(await asked).toMatchObject({ turn: 1, text: 'two' });
  expect(await perch.events(session, 'step/start')).toHaveLength(2);

  await perch.post(session, { text: 'for later', delivery: 'inject' });
  expect(await (await perch.request('GET', `/v1/sessions/${session}`)).json()).toMatchObject({
    status: 'idle',
    queued: 1,
    turns: 1,
  });
  await perch.ask(session, 'go on');
  const last = await perch.events(session, 'user/message');
  expect(last.map((event) => event.turn)).toEqual([1, 1, 2, 2]);
});

it('cancels a turn, keeps what people saw of the answer, and takes what waits next', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'a long answer of many words', hang_after: 2 }, { text: 'the next' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const response = await perch.request(
    'POST',
    `/v1/sessions/${session}/messages`,
    { text: 'go' },
    { accept: 'text/event-stream' },
  );
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (!seen.includes('event: delta')) seen += (await reader?.read())?.value ?? '';
  await perch.request('POST', `/v1/sessions/${session}/cancel`, {});
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) seen += part.value;
  expect(seen).toContain('event: turn/end');
  const [message] = await perch.events(session, 'assistant/message');
  expect(message).toMatchObject({ interrupted: true, finish: 'aborted' });
  expect(JSON.stringify(message?.content)).toContain('a');
  expect((await perch.events(session, 'turn/end'))[0]).toMatchObject({ reason: { kind: 'aborted' } });
  expect(await perch.ask(session, 'and now')).toMatchObject({ turn: 2, text: 'the next' });
});

it('accounts once for a message that is cleared while a step is being prepared, and loses none that comes after', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  let isHeld = true;
  let wasReached = false;
  planFaults(async (point) => {
    if (point !== 'step.lanes' || !isHeld) return;
    wasReached = true;
    while (isHeld) await scheduler.wait(2);
  });
  await perch.post(session, { text: 'cleared' });
  while (!wasReached) await scheduler.wait(2);
  await perch.request('POST', `/v1/sessions/${session}/cancel`, { clear_inbox: true });
  // It takes the row that the cleared one had.
  await perch.post(session, { text: 'kept' });
  isHeld = false;
  const last = await perch.ask(session, 'last');
  clearFaults();
  expect(last.turn).toBe(3);
  expect(await perch.events(session, 'inbox/discarded')).toHaveLength(1);
  const said = await perch.events(session, 'user/message');
  expect(said.map(({ message }) => JSON.stringify(message).match(/"text":"(\w+)"/)?.[1])).toEqual([
    'kept',
    'last',
  ]);
  expect(await (await perch.request('GET', `/v1/sessions/${session}`)).json()).toMatchObject({ queued: 0 });
});
