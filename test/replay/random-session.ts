/**
 * A session with a random past, made in this process by the loop itself: prompts, steers and injects at any point,
 * discards, cancels, resets, models that fail, tools that answer, throw and take their time, and restarts.
 */
import { DatabaseSync } from 'node:sqlite';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { z } from 'zod';
import { type Deployment, resolveDeployment } from '../../durable/composition.ts';
import { modelBadRequest, modelRateLimited, modelUnavailable } from '../../durable/errors.ts';
import { admitMessage } from '../../durable/inbox/index.ts';
import type { ResolvedModel } from '../../durable/models/index.ts';
import { markCancelled } from '../../durable/operations/cancel.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import { defineTool } from '../../durable/tools/index.ts';
import { type EventBody, exportLog, type MessageId } from '../../durable/transcript/index.ts';
import { type LocalSession, openLocalSession } from '../../scripts/local/local-session.ts';
import { createVirtualClock, type ReplayClock } from '../../scripts/replay/virtual-clock.ts';
import { testDeployment } from '../support/deployment.ts';
import type { Random } from '../support/random.ts';

const untilLater = () => new Promise<void>((resolve) => setImmediate(resolve));

const nap = defineTool({
  name: 'nap',
  description: 'Takes its time.',
  input: z.strictObject({}),
  parallelSafe: true,
  async run() {
    await untilLater();
    await untilLater();
    return 'rested';
  },
});

/** What the sessions are made with. */
export const randomDeployment: DeploymentDefinition = {
  ...testDeployment,
  plugins: [...testDeployment.plugins, { name: 'naps', tools: [nap] }],
};

const CREATE = {
  tenant: 't',
  directory: 'd',
  id: 's',
  agent: 'plain',
  model: null,
  cwd: '/workspace',
  metadata: {},
  persona: null,
  tools: null,
  idempotency: null,
};
const PROMPTS = 4;
const DISTURBANCES = 8;
const MOST_LIVES = 6;
const BY = 'somebody';
const FINISH_USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};

/** The export of such a session, when it has come to rest. */
export async function makeRandomSession(random: Random, skills: SkillView): Promise<string> {
  const db = new DatabaseSync(':memory:');
  try {
    return await new World(db, random, skills).run();
  } finally {
    db.close();
  }
}

interface Life {
  local: LocalSession;
  isOver: boolean;
  over: Promise<void>;
  end: () => void;
}

class World {
  readonly #db: DatabaseSync;
  readonly #random: Random;
  readonly #skills: SkillView;
  readonly #clock: ReplayClock = createVirtualClock(1_700_000_000_000);
  readonly #deployment: Deployment = resolveDeployment(randomDeployment);
  readonly #model: ResolvedModel;
  #ids = 0;
  #left = DISTURBANCES;
  #lives = 0;
  #life: Life;

  constructor(db: DatabaseSync, random: Random, skills: SkillView) {
    this.#db = db;
    this.#random = random;
    this.#skills = skills;
    this.#model = {
      provider: 'offline',
      model: 'instant',
      traits: { metaKey: 'offline' },
      accepts: () => true,
      redact: (text) => text,
      adapter: this.#createAdapter(),
    };
    this.#life = this.#open();
  }

  async run(): Promise<string> {
    for (let prompts = PROMPTS; ; ) {
      if (this.#life.isOver) this.#life = this.#open();
      const { parts, driver } = this.#life.local;
      if (parts.turn() || parts.inbox.wakes()) {
        await this.#clock.settle(Promise.race([driver.wake(), this.#life.over]));
        continue;
      }
      if (prompts-- === 0) break;
      this.#clock.reach(this.#clock.now() + 1_000);
      if (this.#chance(0.2)) this.#reset();
      this.#admit();
      if (this.#chance(0.3)) this.#admit();
    }
    const { log, blobs } = this.#life.local.parts;
    return new Response(exportLog(log, blobs.get)).text();
  }

  #chance(p: number): boolean {
    return this.#random.next() < p;
  }

  #open(): Life {
    this.#lives++;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const opened: { life: Life | null } = { life: null };
    const clock = this.#clock;
    const local = openLocalSession(this.#db, CREATE, {
      deployment: this.#deployment,
      models: () => this.#model,
      skills: { view: async () => this.#skills },
      now: clock.now,
      wait: clock.wait,
      random: this.#random.next,
      newMessageId: () => `inj_${++this.#ids}` as MessageId,
      faults: { hit: () => this.#pass(opened.life) },
      publish: clock.touch,
      watchdog: { arm: () => undefined, disarm: () => undefined, armAt: () => undefined },
      env: {},
      reportTurn: () => undefined,
      reportFailure: (error) => {
        throw error;
      },
    });
    const life: Life = {
      local,
      isOver: false,
      over,
      end() {
        life.isOver = true;
        resolve();
      },
    };
    opened.life = life;
    return life;
  }

  #pass(life: Life | null): Promise<void> | undefined {
    this.#clock.touch();
    this.#clock.reach(this.#clock.now() + 1);
    if (life && !life.isOver) this.#disturb(0.06);
    return life?.isOver ? new Promise<void>(() => undefined) : undefined;
  }

  /** Something from outside, now and then. */
  #disturb(p: number): void {
    if (this.#left === 0 || !this.#chance(p)) return;
    this.#left--;
    this.#clock.reach(this.#clock.now() + this.#random.below(50));
    const admit = () => this.#admit();
    const cancel = () => this.#cancel();
    const restart = () => {
      if (this.#lives < MOST_LIVES) this.#life.end();
    };
    this.#random.pick([admit, admit, admit, cancel, cancel, () => this.#discard(), restart])();
  }

  #admit(): void {
    const delivery = this.#random.pick(['followup', 'followup', 'steer', 'inject'] as const);
    const text = this.#random.pick(['hello', '/guide me', 'some forbidden words', 'go on']);
    admitMessage(
      { ...this.#life.local.parts, session: 's', accepts: () => true, model: '', arm: () => undefined },
      {
        id: `msg_${++this.#ids}`,
        delivery,
        source: { kind: 'user' },
        content: [{ type: 'text', text: `${text} ${this.#ids}` }],
        idempotency: null,
      },
    );
  }

  #cancel(): void {
    const { parts, driver } = this.#life.local;
    const turn = parts.turn()?.turn;
    if (turn === undefined) return;
    const cleared = this.#chance(0.3) ? parts.inbox.all() : [];
    parts.log.commit((append) => {
      markCancelled(parts, turn, BY);
      for (const { message } of parts.inbox.remove(cleared)) {
        append({ type: 'inbox/discarded', message, cause: `cleared by ${BY}` });
      }
    });
    driver.cancel(BY);
  }

  #discard(): void {
    const { parts } = this.#life.local;
    const item = parts.inbox.all().find((entry) => parts.turn() === null || !parts.inbox.isClaimed(entry));
    if (!item) return;
    parts.log.commit((append) => {
      parts.inbox.remove([item]);
      append({ type: 'inbox/discarded', message: item.message, cause: `discarded by ${BY}` });
    });
  }

  #reset(): void {
    const { parts } = this.#life.local;
    if (parts.turn()) return;
    const events: EventBody[] = [
      { type: 'command/run', command: 'reset', by: BY },
      { type: 'command/done', command: 'reset', result: ['The model sees nothing from before.'] },
    ];
    parts.log.commit((append) => {
      for (const event of events) append(event);
    });
  }

  #createAdapter(): LanguageModelV4 {
    return {
      specificationVersion: 'v4',
      provider: 'offline',
      modelId: 'instant',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('only streams')),
      doStream: async () => {
        if (this.#chance(0.15)) {
          throw this.#random.pick([modelRateLimited, modelUnavailable, modelBadRequest])('not now');
        }
        return { stream: this.#stream(this.#compose()) };
      },
    };
  }

  #stream(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
    let next = 0;
    return new ReadableStream<LanguageModelV4StreamPart>(
      {
        pull: async (controller) => {
          await untilLater();
          this.#clock.touch();
          if (next > 0) this.#disturb(0.03);
          const part = parts[next++];
          if (part) controller.enqueue(part);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  #compose(): LanguageModelV4StreamPart[] {
    const calls = Array.from(
      { length: this.#chance(0.4) ? 1 + this.#random.below(3) : 0 },
      () => ++this.#ids,
    );
    const speaks = calls.length === 0 || this.#chance(0.8);
    const text = speaks ? this.#random.pick(['Well.', 'One two three four five.', 'Done.']) : '';
    const unified = calls.length > 0 ? 'tool-calls' : 'stop';
    return [
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: 't' },
      ...(text.match(/\S+\s*/g) ?? []).map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
      { type: 'text-end', id: 't' },
      ...calls.map((n) => ({
        type: 'tool-call' as const,
        // A model may use an id again in another step.
        toolCallId: `call_${n % 5}`,
        toolName: this.#random.pick(['echo', 'effect', 'broken', 'nap', 'nobodys', 'skill']),
        input: this.#random.pick(['{}', '{"text":"x"}', '{"name":"guide"}', '{"text": cut']),
      })),
      { type: 'finish', finishReason: { unified, raw: unified }, usage: FINISH_USAGE },
    ];
  }
}
