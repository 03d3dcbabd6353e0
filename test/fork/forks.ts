/** What the tests of forks share: forks over HTTP, and a child's export beside its parent's. */
import { expect } from 'vitest';
import { z } from 'zod';
import { auditSession, parseExport } from '../../durable/audit/index.ts';
import { sessionView } from '../../durable/rpc.ts';
import type { Perch } from '../support/perch.ts';

export const problem = z.looseObject({
  code: z.string(),
  before: z.number().nullable().optional(),
  after: z.number().nullable().optional(),
});

export function postFork(
  perch: Perch,
  parent: string,
  body: Record<string, unknown> = {},
  key?: string,
): Promise<Response> {
  const headers = key === undefined ? undefined : { 'idempotency-key': key };
  return perch.request('POST', `/v1/sessions/${parent}/fork`, body, headers);
}

/** The child's view. Throws where there is none. */
export async function fork(perch: Perch, parent: string, body: Record<string, unknown> = {}) {
  const response = await postFork(perch, parent, body);
  if (response.status !== 201) throw new Error(`fork: ${response.status} ${await response.text()}`);
  return sessionView.parse(await response.json());
}

export async function view(perch: Perch, session: string) {
  return sessionView.parse(await (await perch.request('GET', `/v1/sessions/${session}`)).json());
}

export async function readExport(perch: Perch, session: string): Promise<string> {
  const response = await perch.request('GET', `/v1/sessions/${session}/export?include=blobs`);
  expect(response.status).toBe(200);
  return new TextDecoder().decode(await response.arrayBuffer());
}

/** Every request in the session's log can be rebuilt from its export, and its numbers have no gap. */
export async function expectAudited(perch: Perch, session: string): Promise<void> {
  expect(auditSession(parseExport(await readExport(perch, session))).findings).toEqual([]);
}

/** Every admitted message is in one claim, one message outside a step, or one discard. */
export async function expectTerminal(perch: Perch, session: string): Promise<void> {
  const events = await perch.events(session);
  const admitted = events.filter(({ type }) => type === 'inbox/admitted').map(({ message }) => message);
  const idOf = (message: unknown) => z.looseObject({ id: z.string() }).parse(message).id;
  const accounted = events.flatMap((event) => {
    if (event.type === 'step/start') return z.array(z.string()).parse(event.claimed);
    if (event.type === 'inbox/discarded') return [idOf(event.message)];
    return event.type === 'user/message' && event.step === undefined ? [idOf(event.message)] : [];
  });
  expect(accounted.sort()).toEqual([...admitted].sort());
}
