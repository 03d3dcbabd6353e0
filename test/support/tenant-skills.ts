/** A tenant's own skills over HTTP. */

import { env, exports } from 'cloudflare:workers';
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { directoryName } from '../../worker/auth/index.ts';
import { createPerch, createTenantKey, type Perch } from './perch.ts';

const bindings = z
  .object({ DIRECTORIES: z.custom<DurableObjectNamespace>(), OBJECT_NAME_SECRET: z.string() })
  .parse(env);

export interface TenantPerch extends Perch {
  key: string;
  put: (name: string, files: Record<string, string | Uint8Array>) => Promise<Response>;
}

export async function createTenant(): Promise<TenantPerch> {
  const perch = await createPerch();
  const key = await createTenantKey(perch.tenant);
  return {
    ...perch,
    key,
    put: (name, files) => perch.request('PUT', `/v1/skills/${name}`, { files: encodeFiles(files) }),
  };
}

export function encodeFiles(files: Record<string, string | Uint8Array>): Record<string, object> {
  const encode = (file: string | Uint8Array): object =>
    typeof file === 'string' ? { text: file } : { base64: Buffer.from(file).toString('base64') };
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, encode(file)]));
}

/** A PUT with a body of any kind. */
export function sendFolder(key: string, name: string, body: BodyInit, type?: string): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${key}` });
  if (type !== undefined) headers.set('content-type', type);
  const url = `https://perch.test/v1/skills/${name}`;
  return exports.default.fetch(new Request(url, { method: 'PUT', headers, body }));
}

/** The text of a SKILL.md. */
export function skillText(name: string, body: string, fields = ''): string {
  return `---\nname: ${name}\ndescription: The tenant's ${name}.\n${fields}---\n${body}`;
}

export function directoryStub(tenant: string): DurableObjectStub {
  const { DIRECTORIES, OBJECT_NAME_SECRET } = bindings;
  return DIRECTORIES.get(DIRECTORIES.idFromName(directoryName(OBJECT_NAME_SECRET, tenant)));
}

export const skillItem = z.object({
  name: z.string(),
  layer: z.string(),
  digest: z.string(),
  model_invocable: z.boolean(),
});
const skillList = z.object({
  data: z.array(skillItem),
  manifest: z.string().nullable(),
  tenant_manifest: z.string().nullable(),
});

export async function listSkills(perch: Perch): Promise<z.infer<typeof skillList>> {
  return skillList.parse(await (await perch.request('GET', '/v1/skills')).json());
}
