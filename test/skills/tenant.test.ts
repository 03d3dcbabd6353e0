/** A tenant's own skills through the real worker, its directory and KV. */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildEntry, manifest, manifestKey, tenantPointerKey } from '../../durable/skills/manifest.ts';
import { createSqlPort } from '../../durable/storage/index.ts';
import { createTenantSkills } from '../../durable/tenant-skills.ts';
import { createTenantKey } from '../support/perch.ts';
import { publishSkills, skillsKv } from '../support/skills.ts';
import {
  createTenant,
  directoryStub,
  encodeFiles,
  listSkills,
  sendFolder,
  skillText,
  type TenantPerch,
} from '../support/tenant-skills.ts';

let deployed = '';
beforeAll(async () => {
  deployed = await publishSkills({ shared: 'DEPLOYMENT-BODY\n', common: 'COMMON-BODY\n' });
});

const BINARY = Uint8Array.from({ length: 512 }, (_, i) => i % 256);
const stored = z.looseObject({
  digest: z.string(),
  manifest: z.string(),
  warnings: z.array(z.looseObject({})),
});
const problem = z.looseObject({ code: z.string(), detail: z.string(), status: z.number() });
const auditPage = z.object({
  data: z.array(z.looseObject({ seq: z.number(), action: z.string(), name: z.string(), at: z.number() })),
  next: z.number().nullable(),
});

async function readProblem(response: Response) {
  return problem.parse(await response.json());
}

async function readAudit(perch: TenantPerch, query = '') {
  return auditPage.parse(await (await perch.request('GET', `/v1/audit/skills${query}`)).json());
}

describe('putting a skill', () => {
  it('publishes it over the deployment for this tenant, and answers what it is', async () => {
    const perch = await createTenant();
    const text = skillText('mine', 'MY-BODY\n\n{{x}} $1\r\n', 'license: MIT\nmetadata:\n  version: 1.0\n');
    const response = await perch.put('mine', { 'SKILL.md': text, 'refs/a.md': 'A', 'data.bin': BINARY });
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toBe('/v1/skills/mine');
    const { digest, manifest: release, warnings } = stored.parse(await response.json());
    expect(warnings).toEqual([]);
    const list = await listSkills(perch);
    expect(list).toMatchObject({ manifest: deployed, tenant_manifest: release });
    expect(list.data.map(({ name, layer }) => [name, layer])).toEqual([
      ['common', 'deployment'],
      ['mine', 'tenant'],
      ['shared', 'deployment'],
    ]);
    expect(await (await perch.request('GET', '/v1/skills/mine')).json()).toMatchObject({
      name: 'mine',
      layer: 'tenant',
      digest,
      license: 'MIT',
      metadata: { version: '1.0' },
      user_invocable: true,
      resources: [{ path: 'data.bin', bytes: 512 }, { path: 'refs/a.md' }],
      body: 'MY-BODY\n\n{{x}} $1\r\n',
    });
    expect(await (await perch.request('GET', '/v1/skills/common')).json()).toMatchObject({
      layer: 'deployment',
      body: 'COMMON-BODY\n',
    });
  });

  it('takes a form with a part for each file, and gives the same skill as JSON does', async () => {
    const perch = await createTenant();
    const text = skillText('form', '\uFEFFBODY\n');
    const form = new FormData();
    form.append('file', new File([text], 'SKILL.md'));
    form.append('file', new File([BINARY], 'assets/logo.bin'));
    const asForm = stored.parse(await (await sendFolder(perch.key, 'form', form)).json());
    const files = { 'SKILL.md': text, 'assets/logo.bin': BINARY };
    const asJson = await perch.put('form', files);
    expect(asJson.status).toBe(200);
    expect(stored.parse(await asJson.json())).toMatchObject({
      digest: asForm.digest,
      manifest: asForm.manifest,
    });
    const [resource] = z
      .object({ resources: z.array(z.object({ digest: z.string() })) })
      .parse(await (await perch.request('GET', '/v1/skills/form')).json()).resources;
    const kept = await skillsKv.get(`content/${resource?.digest}`, 'arrayBuffer');
    expect(new Uint8Array(kept ?? new ArrayBuffer(0))).toEqual(BINARY);
  });

  it('warns of what it leaves out, and publishes the rest', async () => {
    const perch = await createTenant();
    const response = await perch.put('tidy', {
      'SKILL.md': skillText('tidy', 'x\n'),
      '.git/config': 'no',
      'tests.yaml': '[]',
    });
    const { warnings } = stored.parse(await response.json());
    expect(warnings.map(({ code }) => code)).toEqual(['hidden_file', 'tests_left_out']);
    expect(await (await perch.request('GET', '/v1/skills/tidy')).json()).toMatchObject({ resources: [] });
  });
});

describe('a folder that is no skill', () => {
  const good = skillText('bad', 'x\n');
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`f${i}`, '']));
  it.each([
    ['without SKILL.md', { 'README.md': 'x' }, 'no_skill_file', 'bad'],
    ['with SKILL.md in another case', { 'skill.md': good }, 'wrong_case', 'bad/skill.md'],
    ['with a path out of it', { 'SKILL.md': good, '../x': '' }, 'path_invalid', 'bad'],
    ['with a path that goes back inside', { 'SKILL.md': good, 'a/../b': '' }, 'path_invalid', 'bad'],
    ['with an absolute path', { 'SKILL.md': good, '/etc/passwd': '' }, 'path_invalid', 'bad'],
    ['with a backslash', { 'SKILL.md': good, '..\\x': '' }, 'path_invalid', 'bad'],
    ['with NUL in a path', { 'SKILL.md': good, 'a\0b': '' }, 'path_invalid', 'bad'],
    ['with half a character in a path', { 'SKILL.md': good, 'a\ud800': '' }, 'path_invalid', 'bad'],
    ['with a file that is a folder too', { 'SKILL.md': good, a: '', 'a/b': '' }, 'path_conflict', 'bad/a/b'],
    ['with too many files', { 'SKILL.md': good, ...many }, 'too_large', 'bad/SKILL.md'],
    ['that is too large', { 'SKILL.md': good, big: 'x'.repeat(4_200_000) }, 'too_large', 'bad/SKILL.md'],
    ['with too long a SKILL.md', { 'SKILL.md': good + 'x'.repeat(300_000) }, 'too_large', 'bad/SKILL.md'],
    ['whose SKILL.md is not UTF-8', { 'SKILL.md': BINARY }, 'not_utf8', 'bad/SKILL.md'],
    ['of another name', { 'SKILL.md': skillText('other', 'x\n') }, 'name_not_folder', 'bad/SKILL.md'],
    ['without a header', { 'SKILL.md': 'x\n' }, 'header_missing', 'bad/SKILL.md'],
    [
      'with a policy that is neither yes nor no',
      { 'SKILL.md': skillText('bad', 'x\n', 'disable-model-invocation: maybe\n') },
      'policy_invalid',
      'bad/SKILL.md',
    ],
  ])('%s is refused with its reason, and nothing of it is published', async (_, files, code, file) => {
    const perch = await createTenant();
    const refused = await readProblem(await perch.put('bad', files));
    expect(refused).toMatchObject({ status: 422, code: 'skill_rejected' });
    expect(refused['diagnostics']).toContainEqual({
      file,
      line: expect.any(Number),
      severity: 'error',
      code,
      message: expect.any(String),
    });
    expect(await skillsKv.get(tenantPointerKey(perch.tenant))).toBeNull();
    expect((await readAudit(perch)).data).toEqual([]);
  });

  it('names the line of a fault in the YAML', async () => {
    const perch = await createTenant();
    const refused = await readProblem(
      await perch.put('bad', { 'SKILL.md': '---\nname: bad\ndescription: one\ndescription: two\n---\nx\n' }),
    );
    expect(refused['diagnostics']).toMatchObject([{ file: 'bad/SKILL.md', line: 4 }]);
    expect(refused.detail).toMatch(/^bad\/SKILL\.md:4: /);
  });

  it.each([
    ['a form without SKILL.md', [['a', new File(['x'], 'a.md')]], 422, 'skill_rejected'],
    ['a form with a path out of the folder', [['a', new File(['x'], '../SKILL.md')]], 422, 'skill_rejected'],
    ['a form with a part that is no file', [['SKILL.md', good]], 400, 'invalid_request'],
    [
      'a form with a path twice',
      [
        ['a', new File([good], 'SKILL.md')],
        ['b', new File([good], 'SKILL.md')],
      ],
      422,
      'skill_rejected',
    ],
  ] as const)('%s is refused', async (_, parts, status, code) => {
    const perch = await createTenant();
    const form = new FormData();
    for (const [name, part] of parts) form.append(name, part);
    expect(await readProblem(await sendFolder(perch.key, 'bad', form))).toMatchObject({ status, code });
  });

  it.each([
    ['no form at all', 'x', 'multipart/form-data; boundary=y', 400, 'invalid_request'],
    ['a form without a boundary', 'x', 'multipart/form-data', 400, 'invalid_request'],
    ['another content type', 'x', 'text/plain', 415, 'unsupported_media_type'],
    ['no JSON', '{', 'application/json', 400, 'malformed_json'],
    ['JSON of another form', '{"files":{"SKILL.md":"x"}}', 'application/json', 400, 'invalid_request'],
    [
      'both forms of a file',
      '{"files":{"a":{"text":"","base64":""}}}',
      'application/json',
      400,
      'invalid_request',
    ],
    ['what is no base64', '{"files":{"a":{"base64":"x y"}}}', 'application/json', 400, 'invalid_request'],
    ['half a character', '{"files":{"a":{"text":"\\ud800"}}}', 'application/json', 400, 'invalid_request'],
    [
      'a path that objects inherit',
      '{"files":{"__proto__":{"text":""}}}',
      'application/json',
      400,
      'invalid_request',
    ],
    ['a body over the limit', 'x'.repeat(12 * 1024 * 1024 + 1), 'application/json', 413, 'body_too_large'],
  ])('%s is refused as a request', async (_, body, type, status, code) => {
    const perch = await createTenant();
    expect(await readProblem(await sendFolder(perch.key, 'bad', body, type))).toMatchObject({ status, code });
  });

  it.each(['Not-A-Name', 'a--b', 'x'.repeat(65), '%2e%2e%2fx'])(
    'is not even read under the name %s',
    async (name) => {
      const perch = await createTenant();
      const refused = await readProblem(await perch.put(name, { 'SKILL.md': good }));
      expect(refused).toMatchObject({ status: 400, code: 'skill_name_invalid' });
    },
  );
});

describe('who may see and change', () => {
  it('writing needs its scope, and reading has another', async () => {
    const perch = await createTenant();
    const reader = await createTenantKey(perch.tenant, ['skills:read']);
    const body = JSON.stringify({ files: encodeFiles({ 'SKILL.md': skillText('mine', 'x\n') }) });
    expect(await readProblem(await sendFolder(reader, 'mine', body, 'application/json'))).toMatchObject({
      status: 403,
      code: 'missing_scope',
      scope: 'skills:write',
    });
    const writer = await createTenantKey(perch.tenant, ['skills:write']);
    expect((await sendFolder(writer, 'mine', body, 'application/json')).status).toBe(201);
  });

  it("another tenant sees nothing of a tenant's skills, its changes and its use", async () => {
    const [mine, other] = [await createTenant(), await createTenant()];
    await mine.put('mine', { 'SKILL.md': skillText('mine', 'SECRET-BODY\n') });
    expect((await listSkills(other)).data.map(({ name }) => name)).toEqual(['common', 'shared']);
    expect(await readProblem(await other.request('GET', '/v1/skills/mine'))).toMatchObject({
      status: 404,
      code: 'skill_unknown',
    });
    expect(await readProblem(await other.request('DELETE', '/v1/skills/mine'))).toMatchObject({
      status: 404,
    });
    expect((await readAudit(other)).data).toEqual([]);
    expect(await (await other.request('GET', '/v1/skills/mine/usage')).json()).toEqual({
      data: [],
      next: null,
    });
    expect((await listSkills(mine)).data.map(({ name }) => name)).toContain('mine');
  });
});

describe('changes', () => {
  it('at the same time keep each other', async () => {
    const perch = await createTenant();
    const names = Array.from({ length: 8 }, (_, i) => `skill-${i}`);
    const answers = await Promise.all(
      names.map((name) => perch.put(name, { 'SKILL.md': skillText(name, `${name}\n`) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    const { data } = await listSkills(perch);
    expect(data.filter(({ layer }) => layer === 'tenant').map(({ name }) => name)).toEqual(names);
    // Each change has a release of its own, and all of them can still be read.
    const { data: events } = await readAudit(perch);
    expect(new Set(events.map((event) => event['manifest_after'])).size).toBe(names.length);
    for (const event of events) {
      const text = await skillsKv.get(manifestKey(String(event['manifest_after'])));
      expect(manifest.parse(JSON.parse(text ?? '')).skills.length).toBeGreaterThan(0);
    }
  });

  it('are audited: who, what, before and after; a change that changes nothing is none', async () => {
    const perch = await createTenant();
    const [one, two] = ['ONE\n', 'TWO\n'].map((body) => ({ 'SKILL.md': skillText('mine', body) }));
    const first = stored.parse(await (await perch.put('mine', one ?? {})).json());
    await perch.put('mine', one ?? {});
    const second = stored.parse(await (await perch.put('mine', two ?? {})).json());
    expect((await perch.request('DELETE', '/v1/skills/mine')).status).toBe(204);
    const { data } = await readAudit(perch);
    expect(data).toMatchObject([
      {
        action: 'delete',
        digest_before: second.digest,
        digest_after: null,
        manifest_before: second.manifest,
      },
      {
        action: 'put',
        name: 'mine',
        by: `key:key_${perch.tenant}`,
        digest_before: first.digest,
        digest_after: second.digest,
        manifest_before: first.manifest,
        manifest_after: second.manifest,
      },
      { action: 'put', digest_before: null, manifest_before: null, manifest_after: first.manifest },
    ]);
    expect(data[0]?.at).toBeGreaterThan(1e12);
    const page = await readAudit(perch, '?limit=2');
    expect(page.data).toHaveLength(2);
    const rest = await readAudit(perch, `?limit=2&after=${page.next}`);
    expect(rest).toEqual({ data: [data[2]], next: null });
  });

  it('delete what is the tenant’s own, and say so of what is not', async () => {
    const perch = await createTenant();
    expect(await readProblem(await perch.request('DELETE', '/v1/skills/shared'))).toMatchObject({
      status: 404,
      code: 'skill_unknown',
      detail: expect.stringContaining("deployment's"),
    });
    expect(await readProblem(await perch.request('DELETE', '/v1/skills/nobody'))).toMatchObject({
      status: 404,
      code: 'skill_unknown',
      detail: expect.not.stringContaining('deployment'),
    });
  });

  it('stop at the number and the bytes that a tenant may have', async () => {
    const perch = await createTenant();
    await perch.put('mine', { 'SKILL.md': skillText('mine', 'x\n') });
    const fill = (count: number, bytes: number) =>
      runInDurableObject(directoryStub(perch.tenant), (_, { storage }) => {
        storage.sql.exec("DELETE FROM skills WHERE name <> 'mine'");
        const [row] = storage.sql.exec<{ entry: string }>('SELECT entry FROM skills').toArray();
        for (let i = 0; i < count; i++) {
          const entry = JSON.stringify({ ...JSON.parse(row?.entry ?? ''), name: `s${i}` });
          storage.sql.exec(
            "INSERT INTO skills (name, digest, bytes, entry) VALUES (?, '', ?, ?)",
            `s${i}`,
            bytes,
            entry,
          );
        }
      });
    const put = async (name: string) =>
      (await perch.put(name, { 'SKILL.md': skillText(name, 'y\n') })).clone().json<{ code?: string }>();
    await fill(99, 1);
    expect(await put('more')).toMatchObject({ code: 'skill_limit_reached', skills: 100 });
    expect(await put('mine')).not.toHaveProperty('code');
    await fill(1, 32 * 1024 * 1024);
    expect(await put('more')).toMatchObject({ code: 'skill_limit_reached', bytes: 32 * 1024 * 1024 });
  });
});

describe('a store that takes no writes', () => {
  it('keeps the change, says that it is not published, and publishes it by the alarm', async () => {
    const perch = await createTenant();
    const stub = directoryStub(perch.tenant);
    const header = { name: 'kept', description: 'd', userInvocable: true, modelInvocable: true };
    const entry = buildEntry(header, 'x\n', []);
    const waits: number[] = [];
    const code = await runInDurableObject(stub, async (_, { storage }) => {
      const skills = createTenantSkills({
        sql: createSqlPort(storage),
        kv: { put: () => Promise.reject(new Error('429')) },
        now: () => 1,
        wait: async (ms) => void waits.push(ms),
        alarm: { arm: () => void storage.setAlarm(Date.now() + 60_000), disarm: () => undefined },
      });
      const change = { tenant: perch.tenant, by: 'key:k', entry, contents: [] };
      return skills.put(change).catch((error: { data: { code: string } }) => error.data.code);
    });
    expect(code).toBe('skill_publish_failed');
    expect(waits).toHaveLength(2);
    expect((await listSkills(perch)).tenant_manifest).toBeNull();
    expect((await readAudit(perch)).data).toHaveLength(1);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    const { data, tenant_manifest } = await listSkills(perch);
    expect(data.find(({ name }) => name === 'kept')?.digest).toBe(entry.digest);
    expect(tenant_manifest).not.toBeNull();
    // Published: no alarm is left.
    expect(await runDurableObjectAlarm(stub)).toBe(false);
  });
});
