/** A session's turns as its client follows them: messages in, the wait for idle, who was claimed when. */
import { expect } from 'vitest';
import { z } from 'zod';
import { receipt, type SessionView, sessionView } from '../../durable/rpc.ts';
import { readJsonAs } from './http.ts';
import { models, type Perch, uniqueModel } from './perch.ts';

/** Sends a message and returns its id. */
export async function send(
  perch: Perch,
  session: string,
  body: { text: string; delivery?: string },
  headers: Record<string, string> = {},
): Promise<string> {
  const answer = await perch.request('POST', `/v1/sessions/${session}/messages`, body, headers);
  return (await readJsonAs(answer, 202, receipt)).message;
}

export async function readView(perch: Perch, session: string): Promise<SessionView> {
  return readJsonAs(await perch.request('GET', `/v1/sessions/${session}`), 200, sessionView);
}

/** The session when nothing runs in it any more. */
export async function untilIdle(perch: Perch, session: string): Promise<SessionView> {
  await expect.poll(async () => (await readView(perch, session)).status, { timeout: 5_000 }).toBe('idle');
  return readView(perch, session);
}

/** A session whose first turn waits for its model until it is released; every other answer comes at once. */
export async function openBusy(
  perch: Perch,
): Promise<{ session: string; first: string; release: () => Promise<void> }> {
  const model = uniqueModel();
  const gate = uniqueModel();
  await models.script(model, [{ text: 'first answer', gate }, { text: 'next answer' }], { repeat: true });
  const session = await perch.open({ agent: 'stand-in', model: `stand-in/${model}` });
  const first = await send(perch, session, { text: 'first' });
  await models.reached(gate);
  return { session, first, release: () => models.release(gate) };
}

/** The messages that each step claimed, in order: `[turn, step, ids]`. */
export async function readClaims(perch: Perch, session: string): Promise<[number, number, string[]][]> {
  const step = z.looseObject({ turn: z.number(), step: z.number(), claimed: z.array(z.string()) });
  return (await perch.events(session, 'step/start')).map((event) => {
    const { turn, step: number, claimed } = step.parse(event);
    return [turn, number, claimed];
  });
}

/** How each turn ended: `[turn, reason's kind]`. */
export async function readEnds(perch: Perch, session: string): Promise<[number, string][]> {
  const end = z.looseObject({ turn: z.number(), reason: z.looseObject({ kind: z.string() }) });
  return (await perch.events(session, 'turn/end')).map((event) => {
    const { turn, reason } = end.parse(event);
    return [turn, reason.kind];
  });
}

/** What people said, in the order in which the log has it. */
export async function readSaid(perch: Perch, session: string): Promise<string[]> {
  const said = z.looseObject({
    message: z.looseObject({
      source: z.object({ kind: z.string() }),
      content: z.array(z.looseObject({ text: z.string() })),
    }),
  });
  return (await perch.events(session, 'user/message'))
    .map((event) => said.parse(event).message)
    .filter(({ source }) => source.kind === 'user')
    .map(({ content }) => content.map(({ text }) => text).join());
}
