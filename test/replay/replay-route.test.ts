/** The route `replay/<name>` in the worker: an exported session answers again, whatever it is asked. */
import { expect, it } from 'vitest';
import { parseExport } from '../../durable/audit/index.ts';
import { recordModels } from '../../durable/models/index.ts';
import { effects, recordings } from '../support/deployment.ts';
import { createPerch, models, type Perch, uniqueModel } from '../support/perch.ts';

/** Keeps the session's answers under a name. */
async function record(perch: Perch, session: string): Promise<string> {
  const response = await perch.request('GET', `/v1/sessions/${session}/export?include=blobs`);
  const { events } = parseExport(new TextDecoder().decode(await response.arrayBuffer()));
  recordings.set(session, recordModels(events));
  return session;
}

const FOR_PEOPLE = ['assistant/message', 'tool/call', 'tool/result', 'request/failed', 'turn/end'];

async function outline(perch: Perch, session: string): Promise<unknown[]> {
  return (await perch.events(session, FOR_PEOPLE.join(','))).map(
    ({ type, turn, step, content, call, input, reason, error, usage, finish }) =>
      type === 'request/failed' && typeof error === 'object' && error !== null
        ? { type, turn, step, code: 'code' in error ? error.code : null }
        : { type, turn, step, content, call, input, reason, error, usage, finish },
  );
}

it('answers as the recorded model did: text, calls under their ids, a failure that passes', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [
    {
      reasoning: 'Hm.',
      text: 'Let me see.',
      tool_calls: [{ id: 'c1', name: 'effect', arguments: '{"text":"twice"}' }],
    },
    { status: 503, body: '{}' },
    { text: 'That was it.' },
    { text: 'You are welcome.' },
  ]);
  const first = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.ask(first, 'do it');
  await perch.ask(first, 'thanks');
  const name = await record(perch, first);
  const again = await perch.open({ agent: 'stand-in', model: `replay/${name}` });
  expect(await perch.ask(again, 'anything at all')).toMatchObject({
    text: expect.stringContaining('That was it.'),
  });
  expect(await perch.ask(again, 'and more')).toMatchObject({ text: 'You are welcome.' });
  expect(await outline(perch, again)).toEqual(await outline(perch, first));
  // Only the model is a recording here: the tool ran.
  expect(effects.filter((text) => text === 'twice')).toHaveLength(2);
  expect(await models.requests(model)).toHaveLength(4);
});

it('ends the turn with an error where the recording has nothing to say, and takes the next prompt', async () => {
  const perch = await createPerch();
  const first = await perch.open({ agent: 'plain' });
  await perch.ask(first, 'only this');
  const again = await perch.open({ agent: 'plain', model: `replay/${await record(perch, first)}` });
  await perch.ask(again, 'one');
  for (const turn of [2, 3]) {
    expect(await perch.ask(again, 'more')).toMatchObject({
      turn,
      reason: { kind: 'error', error: { code: 'recording_exhausted' } },
    });
  }
  const missing = await perch.open({ agent: 'plain', model: 'replay/never-recorded' });
  expect(await perch.ask(missing, 'hello')).toMatchObject({
    reason: { kind: 'error', error: { code: 'recording_missing' } },
  });
});
