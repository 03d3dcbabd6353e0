/** Which turns used which release of a skill, as sessions tell it. */
import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { clearFaults, planFaults } from '../support/faults.ts';
import { models, type Perch, sessionStub, uniqueModel } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';
import { createTenant, listSkills, skillText } from '../support/tenant-skills.ts';

const usagePage = z.object({
  data: z.array(
    z.object({
      session: z.string(),
      turn: z.number(),
      at: z.number(),
      how: z.string(),
      digest: z.string(),
      manifest: z.string().nullable(),
      tenant_manifest: z.string().nullable(),
    }),
  ),
  next: z.number().nullable(),
});

let deployed = '';
beforeAll(async () => {
  deployed = await publishSkills({ alpha: 'A\n', beta: 'B\n' });
});
afterEach(clearFaults);

async function readUsage(perch: Perch, name: string, query = '') {
  return usagePage.parse(await (await perch.request('GET', `/v1/skills/${name}/usage${query}`)).json());
}

/** Sessions tell after their turn has ended. */
function waitForUses(perch: Perch, name: string, count: number) {
  return vi.waitFor(async () => {
    const page = await readUsage(perch, name);
    expect(page.data).toHaveLength(count);
    return page.data;
  });
}

async function openSession(perch: Perch, ...responses: Parameters<typeof models.script>[1]) {
  const model = uniqueModel();
  await models.script(model, responses.length > 0 ? responses : [{ text: 'ok' }], { repeat: true });
  return perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
}

const digestOf = async (perch: Perch, name: string) =>
  (await listSkills(perch)).data.find((skill) => skill.name === name)?.digest;

describe('the record of use', () => {
  it('has a gesture and a call of the tool, with the digest and the releases', async () => {
    const perch = await createTenant();
    const session = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"beta"}' }] },
      { text: 'ok' },
    );
    await perch.ask(session, '/alpha then /alpha and /nobody');
    const common = { session, turn: 1, manifest: deployed, tenant_manifest: null };
    expect(await waitForUses(perch, 'alpha', 1)).toEqual([
      { ...common, how: 'gesture', digest: await digestOf(perch, 'alpha'), at: expect.any(Number) },
    ]);
    expect(await waitForUses(perch, 'beta', 1)).toEqual([
      { ...common, how: 'tool', digest: await digestOf(perch, 'beta'), at: expect.any(Number) },
    ]);
    expect((await readUsage(perch, 'nobody')).data).toEqual([]);
  });

  it('names the release that was in force in each turn, also where the header was logged long before', async () => {
    const perch = await createTenant();
    const session = await openSession(perch);
    await perch.ask(session, 'nothing yet');
    await perch.ask(session, '/alpha');
    await perch.put('alpha', { 'SKILL.md': skillText('alpha', 'MINE\n') });
    const { tenant_manifest } = await listSkills(perch);
    await perch.ask(session, '/alpha');
    const uses = await waitForUses(perch, 'alpha', 2);
    expect(uses).toMatchObject([
      { turn: 3, manifest: deployed, tenant_manifest, digest: await digestOf(perch, 'alpha') },
      { turn: 2, manifest: deployed, tenant_manifest: null },
    ]);
    expect(uses[0]?.digest).not.toBe(uses[1]?.digest);
  });

  it('leaves out a call that failed and a gesture that was none', async () => {
    const perch = await createTenant();
    const session = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"gamma"}' }] },
      { text: 'ok' },
    );
    await perch.ask(session, 'see /alpha/x');
    await perch.ask(session, '/beta');
    await waitForUses(perch, 'beta', 1);
    for (const name of ['alpha', 'gamma']) expect((await readUsage(perch, name)).data).toEqual([]);
  });

  it('comes in pages, newest first', async () => {
    const perch = await createTenant();
    const session = await openSession(perch);
    for (let turn = 1; turn <= 3; turn++) {
      await perch.ask(session, '/alpha');
      await waitForUses(perch, 'alpha', turn);
    }
    const first = await readUsage(perch, 'alpha', '?limit=2');
    expect(first.data.map(({ turn }) => turn)).toEqual([3, 2]);
    const second = await readUsage(perch, 'alpha', `?limit=2&after=${first.next}`);
    expect(second).toMatchObject({ data: [{ turn: 1 }], next: null });
    const refused = await perch.request('GET', '/v1/skills/alpha/usage?limit=0');
    expect(refused.status).toBe(400);
  });
});

/** The directory takes no uses until the faults are cleared. */
function refuseUses(): { count: number } {
  const refusals = { count: 0 };
  planFaults((point) => {
    if (point !== 'directory.recordUses') return;
    refusals.count++;
    throw new Error('the directory is down');
  });
  return refusals;
}

describe('a directory that does not take it', () => {
  it('fails no prompt, and is told again at the next turn’s end, each use once', async () => {
    const perch = await createTenant();
    const session = await openSession(perch);
    const refusals = refuseUses();
    expect((await perch.ask(session, '/alpha')).reason).toEqual({ kind: 'completed' });
    await vi.waitFor(() => expect(refusals.count).toBe(1));
    clearFaults();
    expect((await readUsage(perch, 'alpha')).data).toEqual([]);
    await perch.ask(session, 'no skill in this one');
    expect(await waitForUses(perch, 'alpha', 1)).toMatchObject([{ turn: 1 }]);
  });

  it('is told after the object came back', async () => {
    const perch = await createTenant();
    const session = await openSession(perch);
    const refusals = refuseUses();
    await perch.ask(session, '/beta');
    await vi.waitFor(() => expect(refusals.count).toBe(1));
    clearFaults();
    await evictDurableObject(sessionStub(perch, session));
    await perch.request('GET', `/v1/sessions/${session}`);
    expect(await waitForUses(perch, 'beta', 1)).toMatchObject([{ turn: 1, how: 'gesture' }]);
  });

  it('has a turn whole that a crash cut off between its steps', async () => {
    const perch = await createTenant();
    const session = await openSession(
      perch,
      { tool_calls: [{ id: 'c', name: 'skill', arguments: '{"name":"beta"}' }] },
      { text: 'ok' },
    );
    let isReached = false;
    planFaults((point) => {
      if (point !== 'step.ended') return;
      isReached = true;
      return new Promise(() => undefined);
    });
    await perch.post(session, { text: '/alpha' });
    // Polled, because a promise that one object settles for another request is none of the platform's.
    await vi.waitFor(() => expect(isReached).toBe(true));
    await abortAllDurableObjects();
    clearFaults();
    await runDurableObjectAlarm(sessionStub(perch, session));
    expect(await waitForUses(perch, 'alpha', 1)).toMatchObject([
      { turn: 1, how: 'gesture', manifest: deployed },
    ]);
    expect(await waitForUses(perch, 'beta', 1)).toMatchObject([{ turn: 1, how: 'tool', manifest: deployed }]);
  });
});
