/**
 * Random lives of a step's answer (pieces, failures, crashes, events in between) against clients that are cut off and
 * come back at random: what each of them assembles is what was logged. The seed of a failure is in its message.
 */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createBlobs, createSqlPort, migrate, type SqlPort } from '../../durable/storage/index.ts';
import { FLOW_LIMITS, type FlowLimits } from '../../durable/subscribers/flow.ts';
import { createSubscribers, type SubscriberPorts } from '../../durable/subscribers/subscribers.ts';
import { createLog, createStreamBuffer, type MessageId, NO_USAGE } from '../../durable/transcript/index.ts';
import { type Assembler, createAssembler } from '../support/assembler.ts';
import { createRandom, type Random } from '../support/random.ts';
import { isStreamFrame, listen, type SocketClient } from '../support/stream-client.ts';

const SEEDS = 40;
const { SESSIONS } = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() }).parse(env);

/** The parts of an object that make up its streams, as a restart makes them. */
function startLife(sql: SqlPort, clock: { ms: number }, limits: FlowLimits) {
  const now = (): number => clock.ms;
  const log = createLog(sql, createBlobs(sql), now);
  const stream = createStreamBuffer(sql, log, now);
  const ports: SubscriberPorts = {
    log,
    stream,
    now,
    sockets: {
      acceptWebSocket(socket) {
        socket.accept();
        socket.addEventListener('message', ({ data }) => void subscribers.receive(socket, data));
      },
      getWebSockets: () => [],
      setWebSocketAutoResponse: () => undefined,
    },
    cancel: () => Promise.reject(new Error('nobody cancels here')),
  };
  const subscribers = createSubscribers(ports, limits);
  log.observe(subscribers.publishCommitted);
  return { log, stream, subscribers };
}

interface Answer {
  attempt: number;
  text: string;
  reasoning: string;
}

interface Client {
  assembler: Assembler;
  socket: SocketClient | null;
  /** Frames of the socket that were read. */
  read: number;
}

const PIECES = [
  'a',
  'word ',
  '会',
  '👩',
  '\ud83d',
  '\ude80',
  'a longer piece of an answer, with some words. ',
];

/** One session of a few steps. What each step's answer was, by step. */
async function runSession(sql: SqlPort, random: Random): Promise<void> {
  const clock = { ms: 1_000 };
  // In every other session the clients are behind most of the time.
  const limits = random.next() < 0.5 ? FLOW_LIMITS : { ...FLOW_LIMITS, probeBytes: 300, windowBytes: 900 };
  let life = startLife(sql, clock, limits);
  const clients: Client[] = [0, 1, 2].map(() => ({ assembler: createAssembler(0), socket: null, read: 0 }));

  const connect = (client: Client): void => {
    const after = client.assembler.cursor() ?? '0';
    const answer = life.subscribers.accept(new Request(`https://session/socket?after=${after}`));
    if (answer.webSocket === null) throw new Error('no socket');
    client.socket = listen(answer.webSocket, true);
    client.read = 0;
  };
  /** Takes what came, or a part of it; what is left is lost if the connection ends. */
  const read = (client: Client, most: number): void => {
    const { socket, assembler } = client;
    for (const frame of socket?.frames.slice(client.read, client.read + most) ?? []) {
      if (isStreamFrame(frame)) assembler.take(frame);
      client.read += 1;
    }
  };
  const disturb = async (): Promise<void> => {
    clock.ms += random.below(60);
    const client = random.pick(clients);
    const chance = random.next();
    if (chance < 0.25 || client.socket === null) {
      if (client.socket !== null) {
        await scheduler.wait(0);
        read(client, random.below(20));
        client.socket.close();
      }
      connect(client);
    } else if (chance < 0.3) {
      await scheduler.wait(0);
      read(client, Number.POSITIVE_INFINITY);
    } else if (chance < 0.36) {
      const message = `msg_${random.below(1e9)}` as MessageId;
      life.log.commit((append) =>
        append({
          type: 'inbox/admitted',
          message,
          delivery: 'inject',
          source: { kind: 'user' },
          wakes: false,
        }),
      );
    }
  };
  const crash = async (): Promise<void> => {
    await scheduler.wait(0);
    for (const client of clients) {
      read(client, random.below(30));
      client.socket?.close();
      client.socket = null;
    }
    life.subscribers.closeAll(1011, 'crashed');
    life = startLife(sql, clock, limits);
    for (let i = random.below(6); i > 0; i--) await disturb();
  };
  const request = (step: number, attempt: number): void =>
    void life.log.commit((append) => {
      append({ type: 'request/attempt', turn: 1, step, attempt, digest: '' });
      life.stream.begin(1, step, attempt);
    });
  const fail = (step: number, attempt: number): void =>
    void life.log.commit((append) => {
      const error = { code: 'model_stream_cut', message: 'cut' };
      append({ type: 'request/failed', turn: 1, step, attempt, error, began: true, retry_at: clock.ms });
      life.stream.clear();
    });

  life.log.commit((append) => append({ type: 'turn/start', turn: 1 }));
  const answers = new Map<number, Answer>();
  for (let step = 1; step <= 3; step++) {
    life.log.commit((append) => append({ type: 'step/start', turn: 1, step, claimed: [] }));
    let said: Answer;
    for (let attempt = 1; ; attempt++) {
      request(step, attempt);
      said = { attempt, text: '', reasoning: '' };
      let end: 'answered' | 'failed' | 'crashed' = 'answered';
      for (let pieces = random.below(60); pieces > 0; pieces--) {
        const kind = random.next() < 0.2 ? 'reasoning' : 'text';
        const piece = random.pick(PIECES);
        said[kind] += piece;
        life.subscribers.publish(life.stream.push(kind, piece));
        await disturb();
        const chance = random.next();
        if (chance < 0.03) end = chance < 0.015 ? 'failed' : 'crashed';
        if (end !== 'answered') break;
      }
      if (end === 'answered') break;
      if (end === 'failed') fail(step, attempt);
      else await crash();
      await disturb();
    }
    answers.set(step, said);
    life.log.commit((append) => {
      append({
        ...{
          type: 'assistant/message',
          turn: 1,
          step,
          attempt: said.attempt,
          finish: 'stop',
          usage: NO_USAGE,
          model: 'm',
        },
        content: [
          { type: 'reasoning', text: said.reasoning },
          { type: 'text', text: said.text },
        ],
        surface: 'append',
      });
      life.stream.clear();
    });
    await disturb();
    life.log.commit((append) => append({ type: 'step/end', turn: 1, step }));
  }
  for (const client of clients) if (client.socket === null) connect(client);
  await scheduler.wait(0);
  for (const client of clients) {
    const last = life.log.lastSeq();
    for (let waited = 0; client.assembler.seqs().at(-1) !== last && waited < 200; waited++) {
      read(client, Number.POSITIVE_INFINITY);
      await scheduler.wait(1);
    }
    check(client.assembler, answers, last);
    client.socket?.close();
  }
  life.subscribers.closeAll(1000, 'done');
}

function check(assembler: Assembler, answers: ReadonlyMap<number, Answer>, lastSeq: number): void {
  expect(assembler.seqs()).toEqual(Array.from({ length: lastSeq }, (_, i) => i + 1));
  expect(assembler.repeated()).toBe(0);
  for (const [step, answer] of answers) {
    const { attempt, text, reasoning, streamed } = assembler.step(1, step) ?? {};
    expect(toJson({ attempt, text, reasoning })).toBe(toJson(answer));
    // What came of it before it was logged is how it begins; a client that was there had all of it.
    if (streamed?.attempt !== answer.attempt) continue; // it was gone when the restart was told
    for (const kind of ['text', 'reasoning'] as const) {
      const came = streamed?.[kind] ?? '';
      expect(toJson(came)).toBe(toJson(answer[kind].slice(0, came.length)));
    }
  }
}

/** Halves of pairs cannot go into a message of a failed test. */
function toJson(value: unknown): string {
  return JSON.stringify(value);
}

it('assembles what was logged, in any order of cuts, restarts and crashes', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const stub = SESSIONS.get(SESSIONS.newUniqueId());
    await runInDurableObject(stub, async (_, { storage }) => {
      const sql = createSqlPort(storage);
      migrate(sql);
      await runSession(sql, createRandom(seed)).catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      });
    });
  }
}, 60_000);
