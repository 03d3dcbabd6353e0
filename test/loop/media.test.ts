import { expect, it } from 'vitest';
import { z } from 'zod';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

/** Bytes of every value, so that a conversion to text would show. */
const BYTES = Uint8Array.from({ length: 2_500_000 }, (_, i) => (i * 7) % 256);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

it('keeps an image as a blob, gives it to a model that takes it, and keeps its bytes out of the log', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'seen' }, { text: 'again' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', media_type: 'image/png', name: 'a.png', data: base64(BYTES) },
  ];
  expect((await perch.post(session, { content })).status).toBe(202);
  await perch.ask(session, 'and now?');
  const [message] = await perch.events(session, 'user/message');
  expect(message?.message).toMatchObject({
    content: [
      { type: 'text' },
      { type: 'image', blob: sha256Hex(BYTES), bytes: BYTES.byteLength, name: 'a.png' },
    ],
  });
  // The bytes went out whole, in the first request and in the next one.
  for (const request of await models.requests(model)) expect(request.body).toContain(base64(BYTES));
  expect(JSON.stringify(await perch.events(session)).length).toBeLessThan(20_000);
});

it('refuses content that the model does not take, names both, and keeps nothing', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'stand-in' });
  const content = [{ type: 'file', media_type: 'video/mp4', data: base64(new Uint8Array(8)) }];
  const response = await perch.post(session, { content });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    code: 'media_not_accepted',
    media_type: 'video/mp4',
    model: 'stand-in/plain',
  });
  expect(await perch.events(session, 'inbox/admitted')).toEqual([]);
});

it('refuses a text past its ceiling, and names the ceiling', async () => {
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  const response = await perch.post(session, { text: 'ä'.repeat(600_000) });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ code: 'message_too_large', limit: 1_000_000 });
});

it('keeps a long text whole, in the log and on its way to the model', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'ok' }]);
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const text = `begin ${'長い'.repeat(150_000)} end`;
  await perch.ask(session, text);
  const [message] = await perch.events(session, 'user/message');
  const said = z
    .looseObject({ content: z.array(z.looseObject({ text: z.string() })) })
    .parse(message?.message);
  expect(said.content[0]?.text).toBe(text);
  const [request] = await models.requests(model);
  expect(request?.body).toContain(text);
});
