/**
 * A long session with tools, skills, releases and two providers: every body that the models' server received is rebuilt
 * byte for byte from the exported log, and each request extends the one before it unless a logged change says why.
 */
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { auditSession, parseExport, type RebuiltRequest } from '../../durable/audit/index.ts';
import {
  anthropic,
  createModelResolver,
  openaiCompatible,
  toCallOptions,
} from '../../durable/models/index.ts';
import { createPerch, models, type Perch, uniqueModel } from '../support/perch.ts';
import { publishSkills } from '../support/skills.ts';

const TURNS = 200;
const RELEASE_EVERY = 40;
const SHADOWED_FROM = 50;
const SHADOWED_TO = 130;
const variables = z.record(z.string(), z.unknown()).parse(env);

/** The body that an adapter sends for a rebuilt request, without sending it. */
async function renderBody(request: RebuiltRequest, blobs: ReadonlyMap<string, Uint8Array>): Promise<string> {
  let body = '';
  const capture: typeof fetch = async (_, init) => {
    body = String(init?.body);
    return new Response(null, { status: 500 });
  };
  const resolve = createModelResolver(
    [
      openaiCompatible({
        name: 'stand-in',
        baseUrlVar: 'MODEL_SERVER',
        media: ['image/png'],
        fetch: capture,
      }),
      anthropic({
        name: 'stand-in-anthropic',
        baseUrlVar: 'MODEL_SERVER',
        key: 'STAND_IN_KEY',
        fetch: capture,
      }),
    ],
    variables,
  );
  const model = await resolve(request.provider, request.model);
  const readBlob = (digest: string): Uint8Array => blobs.get(digest) ?? new Uint8Array();
  await Promise.resolve(model.adapter.doStream(toCallOptions({ ...request, readBlob }, model))).catch(
    () => undefined,
  );
  return body;
}

async function readExport(perch: Perch, session: string) {
  const response = await perch.request('GET', `/v1/sessions/${session}/export?include=blobs`);
  return parseExport(new TextDecoder().decode(await response.arrayBuffer()));
}

async function changeOwnSkill(perch: Perch, method: 'PUT' | 'DELETE', status: number): Promise<void> {
  const text = "---\nname: alpha\ndescription: The tenant's own alpha.\n---\nOWN BODY\n";
  const body = method === 'PUT' ? { files: { 'SKILL.md': { text } } } : undefined;
  const response = await perch.request(method, '/v1/skills/alpha', body);
  expect(response.status).toBe(status);
}

it.each(['stand-in', 'stand-in-anthropic'])(
  '%s: rebuilds each of its requests byte for byte',
  async (provider) => {
    const perch = await createPerch();
    const model = uniqueModel();
    const call = { id: 'c', name: 'echo', arguments: '{"text":"from the tool"}' };
    const load = { id: 's', name: 'skill', arguments: '{"name":"alpha"}' };
    await models.script(
      model,
      Array.from({ length: TURNS * 2 }, (_, i) => {
        if (i % 10 === 0) return { text: 'let me see', tool_calls: [call] };
        if (i % 10 === 5) return { reasoning: 'hm', tool_calls: [load, { ...call, id: 'd' }] };
        return { text: `answer ${i} — ünïcode 界 $& {{x}}` };
      }),
    );
    const session = await perch.open({ agent: 'stand-in', model: `${provider}/${model}` });
    for (let turn = 0; turn < TURNS; turn++) {
      if (turn % RELEASE_EVERY === 0)
        await publishSkills({ alpha: `BODY ${turn}\n`, [`extra-${turn}`]: 'more\n' });
      // The tenant shadows a skill of the deployment for a while.
      if (turn === SHADOWED_FROM) await changeOwnSkill(perch, 'PUT', 201);
      if (turn === SHADOWED_TO) await changeOwnSkill(perch, 'DELETE', 204);
      await perch.ask(session, turn % 7 === 3 ? `/alpha in turn ${turn}` : `turn ${turn}`);
    }
    const exported = await readExport(perch, session);
    const report = auditSession(exported);
    expect(report.findings).toEqual([]);
    const received = await models.requests(model);
    expect(report.requests).toHaveLength(received.length);
    for (const [i, request] of report.requests.entries()) {
      expect(await renderBody(request, exported.blobs)).toBe(received[i]?.body);
    }
    const later = report.requests.slice(1);
    const breaks = later.filter((request) => !request.extendsPrevious);
    // A change of the prompt's words would be named; a release changes the catalog, which only appends.
    for (const { changes } of breaks) expect(changes.length).toBeGreaterThan(0);
    console.log(
      `${provider}: ${later.length - breaks.length} of ${later.length} requests extend the one before`,
    );
    // Releases, and the tenant's change and its undoing, are in the log as what they are.
    const releases = later.flatMap(({ changes }) => changes).filter(({ part }) => part === 'skills');
    expect(releases).toHaveLength(TURNS / RELEASE_EVERY - 1 + 2);
    expect(received.some(({ body }) => body.includes('OWN BODY'))).toBe(true);
  },
  120_000,
);

it('finds a word that was changed in a log, a line that was left out, and a text that is another', async () => {
  const perch = await createPerch();
  const model = uniqueModel();
  await models.script(model, [{ text: 'ok' }], { repeat: true });
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  await perch.ask(session, 'the original words');
  await perch.ask(session, 'more');
  const { events, blobs } = await readExport(perch, session);
  expect(auditSession({ events, blobs }).findings).toEqual([]);
  const forged = JSON.parse(JSON.stringify(events).replace('the original words', 'other words'));
  expect(auditSession({ events: forged, blobs }).findings).toHaveLength(2);
  expect(auditSession({ events: events.toSpliced(4, 1), blobs }).findings.length).toBeGreaterThan(0);
  const [digest = ''] = blobs.keys();
  const swapped = new Map(blobs).set(digest, new TextEncoder().encode('another text'));
  expect(auditSession({ events, blobs: swapped }).findings.length).toBeGreaterThan(0);
});
