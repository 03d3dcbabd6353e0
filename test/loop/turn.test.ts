import { expect, it } from 'vitest';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

it('takes a prompt over HTTP and answers from the model, with one log line an event', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'Hello from the stand-in.' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'Say hello.');
  expect(answer.text).toBe('Hello from the stand-in.');
  expect(answer.reason).toEqual({ kind: 'completed' });
  const events = await perch.events(session);
  expect(events.map((event) => event.type)).toEqual([
    'session/created',
    'inbox/admitted',
    'turn/start',
    'step/start',
    'user/message',
    'request/header',
    'request/attempt',
    'assistant/message',
    'step/end',
    'turn/end',
  ]);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
});

it('carries out the calls of a step and asks again with their results', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    {
      tool_calls: [
        { id: 'c1', name: 'echo', arguments: '{"text":"one"}' },
        { id: 'c2', name: 'effect', arguments: '{"text":"two"}' },
      ],
    },
    { text: 'Both are done.' },
  ]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const answer = await perch.ask(session, 'Do both.');
  expect(answer.text).toBe('Both are done.');
  const results = await perch.events(session, 'tool/result');
  expect(results.map(({ call, content }) => ({ call, content }))).toEqual([
    { call: 'c1', content: [{ type: 'text', text: 'one' }] },
    { call: 'c2', content: [{ type: 'text', text: 'done: two' }] },
  ]);
});
