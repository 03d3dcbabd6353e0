import { describe, expect, it } from 'vitest';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

const MISTAKES = {
  'unknown-variable': 'prompt_unknown_variable',
  'no-value': 'prompt_variable_without_value',
  malformed: 'prompt_malformed_reference',
  unbalanced: 'prompt_unbalanced_reference',
};

describe.each(Object.entries(MISTAKES))('a persona with a reference that is wrong (%s)', (agent, code) => {
  it('ends the turn with an error that names the section, before a model sees anything', async () => {
    const perch = await createPerch();
    const model = uniqueModel();
    await models.script(model, [{ text: 'never' }]);
    const session = await perch.open({ agent, model: `stand-in/${model}` });
    const first = await perch.ask(session, 'first');
    expect(first.reason).toMatchObject({
      kind: 'error',
      error: { code, facts: { section: 'deployment:persona' } },
    });
    expect(await models.requests(model)).toEqual([]);
    const types = (await perch.events(session)).map((event) => event.type);
    expect(types).not.toContain('step/start');
    // Nothing is lost: the message is in the log, and the next prompt is taken.
    const second = await perch.ask(session, 'second');
    expect(second.turn).toBe(2);
    expect(await perch.events(session, 'user/message')).toHaveLength(2);
  });
});

it("refuses a session's own persona that cannot be rendered, and makes no session", async () => {
  const perch = await createPerch();
  const response = await perch.request('POST', '/v1/sessions', {
    id: 'mine',
    agent: 'plain',
    persona: 'I am {{nobody}}.',
  });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    code: 'prompt_unknown_variable',
    section: 'deployment:persona',
  });
  expect((await perch.request('GET', '/v1/sessions/mine')).status).toBe(404);
});

it('tells a rendered prompt the late fact, the rerouted model and the braces of a verbatim section', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'ok' }]);
  const late = await perch.open({ agent: 'late', model: `stand-in/${model}` });
  await perch.ask(late, 'x');
  const [request] = await models.requests(model);
  expect(request?.body).toContain('A fact: declared late.');
  expect(request?.body).toContain('Literal {{braces}} stay.');

  await models.script('rerouted-by-listener', [{ text: 'ok' }]);
  const rerouted = await perch.open({ agent: 'rerouted', model: `stand-in/${model}` });
  await perch.ask(rerouted, 'x');
  const [second] = await models.requests('rerouted-by-listener');
  expect(second?.body).toContain('You read rerouted-by-listener of stand-in.');
});

it('ends a turn as blocked where a lane rejects it, without a step, and takes the next one', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  await perch.post(session, { text: 'these are forbidden words' });
  const answer = await perch.ask(session, 'and these are not');
  expect(answer.turn).toBe(2);
  const events = await perch.events(session);
  expect(events.find((event) => event.type === 'turn/end')).toMatchObject({
    turn: 1,
    reason: { kind: 'blocked', by: 'facts', message: 'These words are not taken.' },
  });
  expect(events.filter((event) => event.type === 'inbox/discarded')).toHaveLength(1);
});
