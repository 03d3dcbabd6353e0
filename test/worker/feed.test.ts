import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../durable/errors.ts';
import type { EventQuery, Frame } from '../../durable/rpc.ts';
import { openFeed } from '../../worker/stream/feed.ts';

type Script = (socket: WebSocket, query: URLSearchParams, opened: number) => void;

/** A session object of which a test says what each of its sockets does. Its log has as many events as `seqs`. */
function scripted(script: Script, seqs = () => 0, missing: (opened: number) => boolean = () => false) {
  const queries: string[] = [];
  return {
    queries,
    async events({ after, limit }: EventQuery): Promise<Outcome<string>> {
      const last = Math.min(after + limit, seqs());
      const data = Array.from({ length: Math.max(0, last - after) }, (_, i) => ({
        seq: after + i + 1,
        type: 'turn/start',
      }));
      queries.push(`page ${after}`);
      return { ok: true, value: JSON.stringify({ data, next: last < seqs() ? last : null }) };
    },
    async fetch(request: Request): Promise<Response> {
      const query = new URL(request.url).searchParams;
      queries.push(query.toString());
      if (missing(queries.length)) return new Response(null, { status: 404 });
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      script(server, query, queries.length);
      return new Response(null, { status: 101, webSocket: client });
    },
  };
}

function send(socket: WebSocket, ...frames: Frame[]): void {
  for (const frame of frames) socket.send(JSON.stringify(frame));
}
const event = (seq: number, data = '{}'): Frame => ({
  frame: 'event',
  seq,
  type: 'turn/start',
  turn: 1,
  data,
});
const delta = (offset: number, text: string): Frame => ({
  frame: 'delta',
  turn: 1,
  step: 1,
  attempt: 1,
  offset,
  kind: 'text',
  text,
});

async function readSeqs(feed: Awaited<ReturnType<typeof openFeed>>, until: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.at(-1) !== until) {
    const frames = await feed.next(5_000);
    if (frames === null) break;
    seqs.push(...frames.flatMap((frame) => (frame.frame === 'event' ? [frame.seq] : [])));
  }
  return seqs;
}

describe('a feed', () => {
  it('goes on where it was when the socket closes, without a gap or a repetition', async () => {
    let logged = 0;
    const session = scripted(
      (socket, query, opened) => {
        const after = Number(query.get('after') ?? 0);
        const next = [after - 1, after, after + 1, after + 2].filter((seq) => seq > 0);
        send(socket, ...next.map((seq) => event(seq)));
        logged = after + 2;
        if (opened < 9) socket.close(1011, 'restarting');
      },
      () => logged,
    );
    const feed = await openFeed(session, { message: 'msg_1' });
    expect(await readSeqs(feed, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    feed.close();
    expect(await feed.next(10)).toBeNull();
    expect(feed.failure()).toBeNull();
  });

  it('passes the text of an answer once, though the next socket repeats it', async () => {
    const session = scripted((socket, _, opened) => {
      send(socket, delta(0, opened === 1 ? 'Hello' : 'Hello, world'));
      if (opened === 1) socket.close(1011, 'restarting');
    });
    const feed = await openFeed(session, { message: 'msg_1' });
    let text = '';
    while (text.length < 12) {
      for (const frame of (await feed.next(5_000)) ?? []) if (frame.frame === 'delta') text += frame.text;
    }
    expect(text).toBe('Hello, world');
    feed.close();
  });

  it('holds a bounded amount for a slow reader, and reads the rest from the log', async () => {
    const large = JSON.stringify({ text: 'x'.repeat(300_000) });
    const sockets: WebSocket[] = [];
    const session = scripted(
      (socket, query) => {
        sockets.push(socket);
        if (query.get('message')) for (let seq = 1; seq <= 20; seq++) send(socket, event(seq, large));
      },
      () => 20,
    );
    const feed = await openFeed(session, { message: 'msg_1' });
    const closed = new Promise((resolve) => sockets[0]?.addEventListener('close', resolve));
    await closed;
    const held = (await feed.next(0)) ?? [];
    expect(held.length).toBeLessThan(6);
    const rest = await readSeqs(feed, 20);
    expect([...held.flatMap((frame) => (frame.frame === 'event' ? [frame.seq] : [])), ...rest]).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    feed.close();
  });

  it('reads a long log in pages before it opens a socket', async () => {
    const session = scripted(
      () => {},
      () => 450,
    );
    const feed = await openFeed(session, { after: { seq: 0, part: null } });
    expect((await readSeqs(feed, 450)).length).toBe(450);
    expect(await feed.next(10)).toEqual([]);
    expect(session.queries).toEqual(['page 0', 'page 200', 'page 400', 'after=450']);
    feed.close();
  });

  it('ends where the session is erased meanwhile, and says so', async () => {
    const session = scripted(
      (socket) => socket.close(4410, 'erased'),
      () => 0,
      (opened) => opened > 1,
    );
    const feed = await openFeed(session, { message: 'msg_1' });
    expect(await feed.next(5_000)).toBeNull();
    expect(feed.failure()).toMatchObject({ code: 'session_not_found' });
  });

  it('of a session that does not exist is not opened', async () => {
    const session = scripted(
      () => {},
      () => 0,
      () => true,
    );
    await expect(openFeed(session, { message: 'msg_1' })).rejects.toMatchObject({
      data: { code: 'session_not_found' },
    });
  });

  it('answers a wait without a frame with none, in time', async () => {
    const feed = await openFeed(
      scripted(() => {}),
      { message: 'msg_1' },
    );
    const started = Date.now();
    expect(await feed.next(50)).toEqual([]);
    expect(Date.now() - started).toBeLessThan(2_000);
    feed.close();
  });

  it('wakes its reader when it is closed', async () => {
    const feed = await openFeed(
      scripted(() => {}),
      { message: 'msg_1' },
    );
    const reading = feed.next(60_000);
    feed.close();
    expect(await reading).toBeNull();
  });
});
