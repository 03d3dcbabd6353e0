import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  call,
  openSession,
  readEvents,
  readJsonAs,
  readUntil,
  seedKey,
  uniqueTenant,
} from '../support/http.ts';

const STREAM = { accept: 'text/event-stream' };
const page = z.object({
  data: z.array(z.looseObject({ seq: z.number(), at: z.number(), type: z.string() })),
  next: z.number().nullable(),
});
const key = await seedKey(uniqueTenant());

/** A session with some turns behind it. */
async function openWithTurns(turns: number): Promise<string> {
  const path = `/v1/sessions/${await openSession(key)}`;
  for (let i = 0; i < turns; i++) {
    await call(`${path}/messages`, { key, body: { text: `turn ${i}` }, headers: { prefer: 'wait=20' } });
  }
  return path;
}

describe('the log as pages', () => {
  it('is the same whatever the size of a page', async () => {
    const path = await openWithTurns(2);
    const whole = await readJsonAs(await call(`${path}/events?limit=1000`, { key }), 200, page);
    expect(whole.data.map(({ seq }) => seq)).toEqual(whole.data.map((_, i) => i + 1));
    const seqs: number[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const part: z.infer<typeof page> = await readJsonAs(
        await call(`${path}/events?limit=3&after=${after}`, { key }),
        200,
        page,
      );
      seqs.push(...part.data.map(({ seq }) => seq));
      after = part.next;
    }
    expect(seqs).toEqual(whole.data.map(({ seq }) => seq));
  });

  it('may be of some types only', async () => {
    const path = await openWithTurns(2);
    const some = await readJsonAs(await call(`${path}/events?types=turn/start,turn/end`, { key }), 200, page);
    expect(some.data.map(({ type }) => type)).toEqual(['turn/start', 'turn/end', 'turn/start', 'turn/end']);
  });
});

describe('the log as a stream', () => {
  it('is what was, then what comes, each event once', async () => {
    const path = await openWithTurns(1);
    const answer = await call(`${path}/events`, { key, headers: STREAM });
    const events = readEvents(answer);
    const ids: string[] = [];
    const readTo = async (type: string): Promise<void> => {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        if (next.value.id !== null && next.value.event !== 'delta') ids.push(next.value.id);
        if (next.value.event === type) return;
      }
    };
    await readTo('turn/end');
    await call(`${path}/messages`, { key, body: { text: 'more' } });
    await readTo('turn/end');
    await events.return(undefined);
    expect(ids).toEqual(ids.map((_, i) => String(i + 1)));
    expect(ids.length).toBeGreaterThan(10);
  });

  it('resumes behind the last event that the client saw, whatever the query says', async () => {
    const path = await openWithTurns(2);
    const resumed = await call(`${path}/events?after=0`, {
      key,
      headers: { ...STREAM, 'last-event-id': '5' },
    });
    const events = await readUntil(resumed, 'turn/end');
    expect(events[0]?.id).toBe('6');
    const broken = await call(`${path}/events`, { key, headers: { ...STREAM, 'last-event-id': 'x' } });
    expect(broken.status).toBe(400);
  });

  it('of a long log has no gap, though it comes in pages and then live', async () => {
    const path = await openWithTurns(30);
    const whole = await readJsonAs(await call(`${path}/events?limit=1000`, { key }), 200, page);
    expect(whole.data.length).toBeGreaterThan(200);
    const last = whole.data.at(-1)?.seq ?? 0;
    const ids: number[] = [];
    for await (const { id } of readEvents(await call(`${path}/events`, { key, headers: STREAM }))) {
      if (id !== null) ids.push(Number(id));
      if (ids.at(-1) === last) break;
    }
    expect(ids).toEqual(whole.data.map(({ seq }) => seq));
  });

  it('ends with a problem when its session is erased', async () => {
    const path = await openWithTurns(1);
    const answer = await call(`${path}/events`, { key, headers: STREAM });
    const reading = readUntil(answer, 'error');
    await call(path, { key, method: 'DELETE' });
    const error = (await reading).at(-1);
    expect(JSON.parse(error?.data ?? '')).toMatchObject({ code: 'session_not_found', status: 404 });
  });

  it('may be of some types only, and then has no deltas', async () => {
    const path = `/v1/sessions/${await openSession(key, { agent: 'demo' })}`;
    const answer = await call(`${path}/events?types=turn/end`, { key, headers: STREAM });
    await call(`${path}/messages`, { key, body: { text: 'hi' } });
    expect((await readUntil(answer, 'turn/end')).map(({ event }) => event)).toEqual(['turn/end']);
  });
});

describe('the log as a socket', () => {
  it('carries frames of the log, then says that it is live', async () => {
    const path = await openWithTurns(1);
    const answer = await call(`${path}/socket?after=2`, { key, headers: { upgrade: 'websocket' } });
    expect(answer.status).toBe(101);
    const socket = answer.webSocket;
    const frames = await new Promise<Record<string, unknown>[]>((resolve) => {
      const seen: Record<string, unknown>[] = [];
      socket?.addEventListener('message', ({ data }) => {
        seen.push(JSON.parse(String(data)));
        if (seen.at(-1)?.['frame'] === 'ready') resolve(seen);
      });
      socket?.accept();
    });
    socket?.close(1000, 'done');
    expect(frames[0]).toMatchObject({ frame: 'event', seq: 3 });
    expect(frames.at(-1)).toMatchObject({ frame: 'ready', last_seq: frames.length + 1 });
  });
});
