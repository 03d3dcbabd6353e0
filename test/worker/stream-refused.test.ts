import { afterEach, expect, it } from 'vitest';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch } from '../support/perch.ts';

afterEach(clearFaults);

it.each([{ accept: 'text/event-stream' }, { prefer: 'wait=5' }])(
  'answers with the receipt where the message is kept and the stream cannot be opened (%o)',
  async (headers) => {
    const perch = await createPerch();
    const session = await perch.open({ agent: 'plain' });
    planFaults((point) => {
      if (point === 'session.socket') throw new Error('no socket today');
    });
    const response = await perch.request(
      'POST',
      `/v1/sessions/${session}/messages`,
      { text: 'hello' },
      headers,
    );
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ session, delivery: 'followup' });
    clearFaults();
    await expect.poll(async () => (await perch.events(session, 'turn/end')).length).toBe(1);
    expect(await perch.events(session, 'user/message')).toHaveLength(1);
  },
);
