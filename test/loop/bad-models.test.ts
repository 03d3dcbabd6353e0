import { describe, expect, it } from 'vitest';
import type { ScriptedResponse } from '../support/model-script.ts';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

/** What passes by itself is asked for three times; the stand-in's Retry-After is longer than a turn waits here. */
const FAILURES: Record<string, { response: ScriptedResponse; code: string; attempts: number }> = {
  'refuses the key': {
    response: { status: 401, body: '{"error":{"message":"bad key"}}' },
    code: 'model_auth_failed',
    attempts: 1,
  },
  'limits the rate': {
    response: { status: 429, headers: { 'retry-after': '2' }, body: '{}' },
    code: 'model_rate_limited',
    attempts: 1,
  },
  'fails inside': { response: { status: 500, body: 'oops' }, code: 'model_unavailable', attempts: 3 },
  hangs: { response: { hang: true }, code: 'model_stalled', attempts: 3 },
  'cuts the stream': {
    response: { text: 'a cut answer of a few words', cut_after: 2 },
    code: 'model_stream_cut',
    attempts: 3,
  },
  'sends garbage': { response: { garbage: true }, code: 'model_response_invalid', attempts: 1 },
};

describe.each(Object.entries(FAILURES))('a model that %s', (_, { response, code, attempts }) => {
  it.each(['stand-in', 'stand-in-anthropic'])(
    'ends the turn with a stable code, and not the session (%s)',
    async (provider) => {
      const perch = await createPerch();
      const model = uniqueModel();
      await models.script(model, [...Array(attempts).fill(response), { text: 'Now it works.' }]);
      const session = await perch.open({ agent: 'stand-in', model: `${provider}/${model}` });
      const failed = await perch.ask(session, 'first');
      expect(failed.reason).toMatchObject({ kind: 'error', error: { code } });
      // A provider's failure commits nothing of its answer.
      expect(await perch.events(session, 'assistant/message')).toEqual([]);
      const next = await perch.ask(session, 'second');
      expect(next).toMatchObject({ turn: 2, text: 'Now it works.', reason: { kind: 'completed' } });
      const second = (await models.requests(model))[attempts];
      expect(second?.body).toContain('first');
      expect(second?.body).toContain('second');
    },
  );
});

it('says which credentials are missing, by name, and takes the next prompt', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain', model: 'keyless/some-model' });
  const answer = await perch.ask(session, 'hello');
  expect(answer.reason).toMatchObject({ kind: 'error', error: { code: 'model_not_configured' } });
  expect(JSON.stringify(answer.reason)).toContain('A_KEY_THAT_NOBODY_SET');
});

it('never shows a key: not in the log, not in an answer', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  const secret = 'a key that the stand-in server never shows';
  await models.script(model, [
    { status: 401, body: JSON.stringify({ error: { message: `the key ${secret} is wrong` } }) },
  ]);
  const session = await perch.open({ agent: 'claude', model: `stand-in-anthropic/${model}` });
  const answer = await perch.ask(session, 'x');
  expect(JSON.stringify(answer)).not.toContain(secret);
  expect(JSON.stringify(await perch.events(session))).not.toContain(secret);
});
