import { describe, expect, it } from 'vitest';
import {
  addSpend,
  countFreeCalls,
  findDeadline,
  findExhausted,
  reserve,
  resolveLimits,
  settle,
} from '../../durable/loop/budgets.ts';
import { DEFAULT_RETRY, MOST_LOST, planRetry } from '../../durable/loop/retries.ts';
import { NO_SPEND } from '../../durable/storage/session-rows.ts';
import {
  type EventBody,
  foldTurn,
  NO_USAGE,
  openTurn,
  type TurnState,
} from '../../durable/transcript/index.ts';

const usage = { ...NO_USAGE, input: 1_000, input_cached: 600, input_cache_write: 100, output: 200 };

describe('a budget', () => {
  it('has fifty steps a turn where the agent says nothing, and no other limit', () => {
    expect(resolveLimits()).toEqual({ turn: { steps: 50 }, session: {} });
  });

  it('is looked at for the turn, then for the session with the turns that have ended', () => {
    const limits = resolveLimits({ turn: { tokens: 100 }, session: { tokens: 150 } });
    const turn = { ...NO_SPEND, tokens: 60 };
    expect(findExhausted(limits, turn, NO_SPEND, { tokens: 40 })).toBeNull();
    expect(findExhausted(limits, turn, NO_SPEND, { tokens: 41 })).toMatchObject({
      scope: 'turn',
      limit: 100,
      used: 60,
    });
    expect(findExhausted(limits, turn, { ...NO_SPEND, tokens: 60 }, { tokens: 40 })).toMatchObject({
      scope: 'session',
      limit: 150,
      used: 120,
    });
  });

  it('of time is up when it is reached, whatever comes', () => {
    const limits = resolveLimits({ turn: { wallMs: 100 } });
    expect(findExhausted(limits, { ...NO_SPEND, wall_ms: 99 }, NO_SPEND, {})).toBeNull();
    expect(findExhausted(limits, { ...NO_SPEND, wall_ms: 100 }, NO_SPEND, {})).toMatchObject({
      budget: 'wall_ms',
    });
    expect(findDeadline(limits, { ...NO_SPEND, wall_ms: 30 }, NO_SPEND)).toMatchObject({ ms: 70 });
  });

  it('of zero allows nothing', () => {
    const limits = resolveLimits({ turn: { toolCalls: 0 } });
    expect(countFreeCalls(limits, NO_SPEND, NO_SPEND)).toBe(0);
    expect(countFreeCalls(resolveLimits(), NO_SPEND, NO_SPEND)).toBe(Infinity);
  });

  it('sums money only where all of it is known', () => {
    expect(addSpend({ ...NO_SPEND, micro_usd: 3 }, { ...NO_SPEND, micro_usd: 4 }).micro_usd).toBe(7);
    expect(addSpend({ ...NO_SPEND, micro_usd: null }, { ...NO_SPEND, micro_usd: 4 }).micro_usd).toBeNull();
  });
});

describe('a price', () => {
  it('is reserved for what goes in and the most that may come out', () => {
    const price = { input: 3, output: 15 };
    expect(reserve(1_000, { maxOutputTokens: 100 }, price)).toEqual({ tokens: 1_100, micro_usd: 4_500 });
    expect(reserve(1_000, {}, undefined)).toEqual({ tokens: 5_096, micro_usd: null });
  });

  it('is settled by what was fresh, cached and written to the cache', () => {
    expect(settle(usage, { input: 3, output: 15, inputCached: 0.3, inputCacheWrite: 3.75 })).toEqual({
      tokens: 1_200,
      micro_usd: 300 * 3 + 600 * 0.3 + 100 * 3.75 + 200 * 15,
    });
    expect(settle(usage, { input: 3, output: 15 }).micro_usd).toBe(1_000 * 3 + 200 * 15);
  });
});

describe('a retry', () => {
  const limited = (ms?: number) => ({
    code: 'model_rate_limited',
    message: 'slow down',
    ...(ms === undefined ? {} : { facts: { retry_after_ms: ms } }),
  });

  it('waits twice as long each time, between half and the whole of that, up to the cap', () => {
    const waits = [1, 2, 3, 4].map((attempt) => [
      planRetry(DEFAULT_RETRY, limited(), { attempt, lost: attempt }, 0),
      planRetry(DEFAULT_RETRY, limited(), { attempt, lost: attempt }, 1),
    ]);
    expect(waits).toEqual([
      [250, 500],
      [500, 1_000],
      [1_000, 2_000],
      [2_000, 4_000],
    ]);
    const patient = { ...DEFAULT_RETRY, attempts: 50 };
    expect(planRetry(patient, limited(), { attempt: 15, lost: 15 }, 1)).toBe(20_000);
  });

  it('never comes before Retry-After, and not at all where that is too long', () => {
    expect(planRetry(DEFAULT_RETRY, limited(7_000), { attempt: 1, lost: 1 }, 0)).toBe(7_000);
    expect(planRetry(DEFAULT_RETRY, limited(60_001), { attempt: 1, lost: 1 }, 0)).toBeNull();
  });

  it('has a limit that a step resets, and a total that it does not', () => {
    expect(planRetry(DEFAULT_RETRY, limited(), { attempt: 5, lost: 5 }, 0)).toBeNull();
    expect(planRetry(DEFAULT_RETRY, limited(), { attempt: 1, lost: MOST_LOST }, 0)).toBeNull();
  });

  it.each([
    'model_auth_failed',
    'model_bad_request',
    'model_refused',
    'model_response_invalid',
    'internal_error',
  ])('does not come after %s', (code) => {
    expect(planRetry(DEFAULT_RETRY, { code, message: '' }, { attempt: 1, lost: 1 }, 0)).toBeNull();
  });
});

type TimedEvent = EventBody & { at: number };
const fold = (events: readonly TimedEvent[]): TurnState => events.reduce(foldTurn, openTurn(0));

describe("a turn's state", () => {
  const at = { turn: 1, step: 1 };
  const attempt = (n: number, time: number): TimedEvent => ({
    type: 'request/attempt',
    ...at,
    attempt: n,
    digest: '',
    reserved: { tokens: 100, micro_usd: 5 },
    at: time,
  });
  const failed = (n: number, time: number, began: boolean): TimedEvent => ({
    type: 'request/failed',
    ...at,
    attempt: n,
    began,
    error: { code: 'model_unavailable', message: '' },
    retry_at: time + 50,
    at: time,
  });
  const answer = (n: number, time: number): TimedEvent => ({
    type: 'assistant/message',
    ...at,
    attempt: n,
    content: [{ type: 'text', text: 'x' }],
    finish: 'stop',
    usage: { ...NO_USAGE, input: 30, output: 10 },
    model: 'm',
    charge: { tokens: 40, micro_usd: 2 },
    surface: 'append',
    at: time,
  });
  const start: TimedEvent[] = [
    { type: 'turn/start', turn: 1, at: 1_000 },
    { type: 'step/start', ...at, claimed: [], at: 1_010 },
  ];

  it('keeps what was set aside for a request that a restart cut off, and settles the rest', () => {
    const events = [...start, attempt(1, 1_010), attempt(2, 5_000), answer(2, 5_100)];
    const state = fold(events);
    expect(state.charged).toEqual({ tokens: 140, micro_usd: 7 });
    expect(state).toMatchObject({ pending: null, lost: 1, requests: 2, startedAt: 1_000 });
    // Nobody waited for the model while the object was away.
    expect(state.clock.modelMs).toBe(100);
  });

  it('frees what was set aside for a request that failed before its first piece, and keeps it after', () => {
    const free = fold([...start, attempt(1, 1_010), failed(1, 1_110, false)]);
    expect(free).toMatchObject({ charged: { tokens: 0 }, pending: null, failed: { retryAt: 1_160 } });
    const billed = [...start, attempt(1, 1_010), failed(1, 1_110, true), attempt(2, 1_160), answer(2, 1_200)];
    const state = fold(billed);
    expect(state.charged).toEqual({ tokens: 140, micro_usd: 7 });
    expect(state).toMatchObject({ failed: null, lost: 1, clock: { modelMs: 190 } });
  });
});
