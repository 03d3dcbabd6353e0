import { evictDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { promptView } from '../../durable/prompt/index.ts';
import { createPerch, models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';

beforeAll(async () => {
  await publishSkills({ alpha: 'BODY-A\n' });
});

async function viewOf(perch: Perch, path: string) {
  const response = await perch.request('GET', path);
  expect(response.status).toBe(200);
  return promptView.parse(await response.json());
}

async function openAsked(perch: Perch, texts: string[]) {
  const model = uniqueModel();
  await models.script(model, [{ text: 'ok' }], { repeat: true });
  const session = await perch.open({
    agent: 'stand-in',
    model: `stand-in/${model}`,
    persona: 'I am of {{team}}.',
  });
  for (const text of texts) await perch.ask(session, text);
  return { session, model };
}

describe('the prompt of a session', () => {
  it('is the very text that the model was sent, with each part and its owner', async () => {
    const perch = await createPerch();
    const { session, model } = await openAsked(perch, ['/alpha go']);
    const view = await viewOf(perch, `/v1/sessions/${session}/prompt?turn=1&step=1`);
    const [request] = await models.requests(model);
    const sent = JSON.parse(request?.body ?? '');
    expect(view.system_text).toBe(sent.messages[0].content);
    expect(view.system_text).toContain('I am of the blue team.');
    expect(view.sections.map(({ name, owner }) => `${name} by ${owner}`)).toEqual([
      'harness:identity by harness',
      'deployment:persona by session',
      'time:guidance by time',
      'facts:braces by facts',
    ]);
    expect(view.section_texts.map(({ text }) => text).join('\n\n')).toBe(view.system_text);
    expect(view.section_texts[1]).toEqual({
      name: 'deployment:persona',
      owner: 'session',
      text: 'I am of the blue team.',
    });
    expect(view.variables).toContainEqual({ name: 'team', owner: 'facts', value: 'the blue team' });
    expect(view.tool_schemas.map(({ name }) => name)).toEqual(
      sent.tools.map((tool: { function: { name: string } }) => tool.function.name),
    );
    expect(view.injections.map(({ source }) => source.kind)).toEqual(['skill-catalog', 'skill-invocation']);
    expect(view.skills.manifest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('of the next step shows what waits in the inbox and what it would bring', async () => {
    const perch = await createPerch();
    const { session } = await openAsked(perch, ['hello']);
    await perch.post(session, { text: '/alpha later', delivery: 'inject' });
    const view = await viewOf(perch, `/v1/sessions/${session}/prompt`);
    expect(view.injections.map(({ source }) => source.kind)).toEqual(['skill-invocation']);
    expect(view.at).toBeNull();
  });

  it('is a problem where there was no such step', async () => {
    const perch = await createPerch();
    const { session } = await openAsked(perch, ['hello']);
    const response = await perch.request('GET', `/v1/sessions/${session}/prompt?turn=1&step=9`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'step_not_found' });
  });

  it('is logged once for as long as nothing in it changes, also across an eviction', async () => {
    const perch = await createPerch();
    const { session } = await openAsked(perch, ['one', 'two']);
    const before = await (await perch.request('GET', `/v1/sessions/${session}`)).json();
    await evictDurableObject(sessionStub(perch, session));
    expect(await (await perch.request('GET', `/v1/sessions/${session}`)).json()).toEqual(before);
    await perch.ask(session, 'three');
    expect(await perch.events(session, 'request/header')).toHaveLength(1);
    await publishSkills({ alpha: 'BODY-A, revised\n' });
    await perch.ask(session, 'four');
    expect(await perch.events(session, 'request/header')).toHaveLength(2);
    // The past is told as it was.
    const [first, last] = [
      await viewOf(perch, `/v1/sessions/${session}/prompt?turn=1&step=1`),
      await viewOf(perch, `/v1/sessions/${session}/prompt?turn=4&step=1`),
    ];
    expect(first.skills.manifest).not.toBe(last.skills.manifest);
    // And what changed since the header before it, or since any other step.
    const release = {
      part: 'skills',
      kind: 'changed',
      before: first.skills.manifest,
      after: last.skills.manifest,
    };
    expect(last).toMatchObject({ since: { turn: 1, step: 1 }, changes: [release] });
    expect(first.changes).toBeNull();
    const back = await viewOf(perch, `/v1/sessions/${session}/prompt?turn=1&step=1&diff=4.1`);
    expect(back.changes).toMatchObject([{ before: last.skills.manifest, after: first.skills.manifest }]);
  });
});

describe('a preview', () => {
  it('renders an agent without a session, and shows the skills that a draft would bring', async () => {
    const perch = await createPerch();
    const response = await perch.request('POST', '/v1/prompt/preview', {
      agent: 'stand-in',
      text: 'please /alpha',
    });
    expect(response.status).toBe(200);
    const view = promptView.parse(await response.json());
    expect(view.system_text).toContain('You are the stand-in agent.');
    expect(view.injections.map(({ source }) => source.kind)).toEqual(['skill-catalog', 'skill-invocation']);
    expect(await (await perch.request('GET', '/v1/sessions')).json()).toMatchObject({ data: [] });
  });

  it('shows a mistake at its section', async () => {
    const perch = await createPerch();
    const response = await perch.request('POST', '/v1/prompt/preview', { agent: 'unbalanced' });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: 'prompt_unbalanced_reference',
      section: 'deployment:persona',
      owner: 'deployment',
    });
  });
});
