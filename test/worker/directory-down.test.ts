import { afterEach, expect, it } from 'vitest';
import { clearFaults, planFaults } from '../support/faults.ts';
import { createPerch } from '../support/perch.ts';

afterEach(clearFaults);

it('a directory that fails costs a session its listing and nothing else, until the next message tells it again', async () => {
  planFaults((point) => {
    if (point === 'directory.add') throw new Error('the directory is down');
  });
  const perch = await createPerch();
  const session = await perch.open({ agent: 'plain' });
  expect((await perch.ask(session, 'hello')).reason).toEqual({ kind: 'completed' });
  const list = async () => (await perch.request('GET', '/v1/sessions')).json();
  expect(await list()).toMatchObject({ data: [] });
  clearFaults();
  await perch.ask(session, 'again');
  await expect.poll(list).toMatchObject({ data: [{ id: session, agent: 'plain' }] });
});
