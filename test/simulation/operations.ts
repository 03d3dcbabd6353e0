/** What happens to a session from outside: a list that a seed makes, and that shrinks when it finds a fault. */
import type { Delivery } from '../../durable/transcript/events.ts';
import { createRandom, type Random } from '../support/random.ts';
import { AGENTS, type AgentName } from './deployment.ts';
import type { PointAction } from './faults.ts';

export interface Post {
  kind: 'post';
  delivery: Delivery;
  text: 'plain' | 'gesture' | 'forbidden';
  /** With an Idempotency-Key. */
  keyed: boolean;
  /** The same request so many times, so far apart. */
  copies: number;
  apartMs: number;
}

export type Action =
  | Post
  /** `turn` is the open one, the one before it, one to come, or whichever is open. */
  | { kind: 'cancel'; clearInbox: boolean; turn: 'open' | 'before' | 'coming' | null; keyed: boolean }
  /** One of the messages posted so far, counted from the newest, or all that wait. */
  | { kind: 'discard'; which: number | null }
  | { kind: 'reset'; keyed: boolean }
  | { kind: 'repair' }
  /** At a share of the log, or at the newest boundary. */
  | { kind: 'fork'; share: number | null }
  | { kind: 'view'; from: 'start' | 'end' | 'message' }
  /** Every viewer says this over its socket. */
  | { kind: 'socket'; says: string }
  /** A viewer loses its connection and comes back. */
  | { kind: 'drop-viewers'; awayMs: number }
  | Disturbance;

/** Done to the object, or to what it reaches. */
export type Disturbance =
  | { kind: 'publish'; settledAfterMs: number }
  | { kind: 'skills-down'; ms: number }
  | { kind: 'skills-slow'; delayMs: number }
  | { kind: 'lane-slow'; delayMs: number }
  | { kind: 'directory-down'; ms: number }
  | { kind: 'crash' }
  | { kind: 'evict' }
  | { kind: 'at-point'; hits: number; action: PointAction }
  | { kind: 'crash-at-write'; writes: number }
  | { kind: 'fill-disk'; after: number; writes: number }
  | { kind: 'fail-commit' }
  | { kind: 'repeat-alarm' };

export interface Operation {
  /** Stays the same when others are dropped. */
  id: number;
  /** Milliseconds from the beginning. */
  at: number;
  /** Which of the sessions that there are by then. */
  session: number;
  action: Action;
}

export interface Scenario {
  seed: number;
  agent: AgentName;
  /** How long a published release may go unseen. */
  freshMs: number;
  /** At which points the first session's object dies while it is made. */
  opening: number[];
  operations: Operation[];
}

/** How often each comes; faults are in a list of their own, so that their share is one number. */
const USES: readonly (readonly [number, (random: Random) => Action])[] = [
  [14, makePost],
  [
    3,
    (random) => ({
      kind: 'cancel',
      clearInbox: random.next() < 0.3,
      turn: random.pick(['open', 'before', 'coming', null, null] as const),
      keyed: random.next() < 0.5,
    }),
  ],
  [2, (random) => ({ kind: 'discard', which: random.next() < 0.2 ? null : random.below(4) })],
  [1, (random) => ({ kind: 'reset', keyed: random.next() < 0.5 })],
  [1, () => ({ kind: 'repair' })],
  [1, (random) => ({ kind: 'fork', share: random.next() < 0.3 ? null : random.next() })],
  [2, (random) => ({ kind: 'publish', settledAfterMs: random.pick([0, 0, 700, 5_000]) })],
  [2, (random) => ({ kind: 'view', from: random.pick(['start', 'end', 'message'] as const) })],
  [1, (random) => ({ kind: 'socket', says: random.pick(SAID) })],
  [3, (random) => ({ kind: 'drop-viewers', awayMs: random.pick([1, 40, 900, 6_000]) })],
];
const FAULTS: readonly (readonly [number, (random: Random) => Action])[] = [
  [4, () => ({ kind: 'crash' })],
  [
    6,
    (random) => ({
      kind: 'at-point',
      hits: 1 + random.below(random.pick([3, 12, 40])),
      action: random.pick<PointAction>([
        { kind: 'crash' },
        { kind: 'crash' },
        { kind: 'hold', ms: random.pick([1, 50, 4_000]) },
        { kind: 'delay', ms: random.pick([1, 30, 2_000]) },
        { kind: 'throw' },
      ]),
    }),
  ],
  [4, (random) => ({ kind: 'crash-at-write', writes: 1 + random.below(random.pick([4, 15, 60])) })],
  [2, () => ({ kind: 'evict' })],
  [2, (random) => ({ kind: 'fill-disk', after: random.below(12), writes: 1 + random.below(8) })],
  [1, () => ({ kind: 'fail-commit' })],
  [1, () => ({ kind: 'repeat-alarm' })],
  [1, (random) => ({ kind: 'skills-down', ms: random.pick([50, 3_000]) })],
  [1, (random) => ({ kind: 'skills-slow', delayMs: random.pick([2, 100, 4_000]) })],
  [1, (random) => ({ kind: 'lane-slow', delayMs: random.pick([0, 30, 3_000, 60_000]) })],
  [1, (random) => ({ kind: 'directory-down', ms: random.pick([100, 5_000]) })],
];
const SAID = [
  '{"type":"cancel"}',
  '{"type":"cancel","id":"a","clear_inbox":true}',
  '{"type":"cancel","id":"b","turn":2}',
  '{"type":"ping"}',
  '{"type":"nothing"}',
  'nothing',
] as const;
/** Short enough that operations meet in the middle of each other, and at times far apart. */
const PAUSES_MS = [0, 0, 1, 3, 20, 120, 600, 600, 2_500, 9_000];

function makePost(random: Random): Post {
  const copies = random.next() < 0.25 ? 2 + random.below(2) : 1;
  return {
    kind: 'post',
    delivery: random.pick(['followup', 'followup', 'followup', 'steer', 'steer', 'inject'] as const),
    text: random.pick(['plain', 'plain', 'plain', 'plain', 'gesture', 'gesture', 'forbidden'] as const),
    keyed: copies > 1 || random.next() < 0.6,
    copies,
    apartMs: random.pick([0, 1, 30, 3_000]),
  };
}

/** Every so many seeds, one write after the other of a short session is where its disk is full or its object dies. */
const SWEEP = 8;
const SWEPT_WRITES = 64;

export function makeScenario(seed: number): Scenario {
  return seed % SWEEP === 0 ? makeSweep(seed, seed / SWEEP) : makeStory(seed);
}

function makeSweep(seed: number, turn: number): Scenario {
  const writes = Math.floor(turn / 2) % SWEPT_WRITES;
  const fault: Action =
    turn % 2 === 0
      ? { kind: 'fill-disk', after: writes, writes: 1 }
      : { kind: 'crash-at-write', writes: writes + 1 };
  const post = { kind: 'post', text: 'gesture', keyed: true, copies: 1, apartMs: 0 } as const;
  const actions: Action[] = [
    { kind: 'view', from: 'start' },
    fault,
    { ...post, delivery: 'followup' },
    { ...post, delivery: 'steer' },
    { ...post, delivery: 'followup' },
  ];
  const operations = actions.map((action, i) => ({ id: i + 1, at: 10 * i, session: 0, action }));
  return { seed, agent: 'free', freshMs: 0, opening: [], operations };
}

function makeStory(seed: number): Scenario {
  const random = createRandom(seed);
  const length = 6 + random.below(24);
  const faultShare = random.pick([0, 0.15, 0.35, 0.35, 0.5]);
  const operations: Operation[] = [];
  let at = 0;
  for (let id = 1; id <= length; id++) {
    at += random.pick(PAUSES_MS);
    const from = random.next() < faultShare ? FAULTS : USES;
    operations.push({ id, at, session: random.below(4), action: pickWeighted(from, random)(random) });
  }
  const opening = random.next() < 0.2 ? [1 + random.below(4), 2 + random.below(6)] : [];
  return { seed, agent: random.pick(AGENTS), freshMs: random.pick([0, 0, 3_000]), opening, operations };
}

function pickWeighted<T>(from: readonly (readonly [number, T])[], random: Random): T {
  let left = random.below(from.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, item] of from) {
    left -= weight;
    if (left < 0) return item;
  }
  throw new Error('nothing to pick from');
}
