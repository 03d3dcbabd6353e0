/**
 * What is outside of a session object and outlives it: the models' side and what tools have done in the world. The
 * object reaches it by a request of the worker to itself, so that what the outside knows of has passed the object's
 * output gate: a commit that a kill takes back was never told to anybody.
 */
import { exports } from 'cloudflare:workers';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { z } from 'zod';

/** The ways in which a model fails: once each, in the order in which a test lists them. */
export type ModelFailure = 'rate-limit' | 'server' | 'unreachable' | 'empty' | 'cut' | 'stall';

/** What a tool did, and for which call. */
export interface Effect {
  tool: string;
  call: string;
  text: string;
}

export interface Outside {
  effects: Effect[];
  /** The prompts that the model was asked with, in order. */
  prompts: LanguageModelV4Prompt[];
  failures: ModelFailure[];
  /** Whatever holds (an answer, a tool, a lane) is there now, and whether it goes on. */
  isHolding: boolean;
  isReleased: boolean;
}

const HOST = 'outside.test';
const sessions = new Map<string, Outside>();

export function outsideOf(session: string): Outside {
  const known = sessions.get(session);
  if (known) return known;
  const fresh: Outside = { effects: [], prompts: [], failures: [], isHolding: false, isReleased: false };
  sessions.set(session, fresh);
  return fresh;
}

export function forgetOutside(session: string): void {
  sessions.delete(session);
}

const effect = z.object({ tool: z.string(), call: z.string(), text: z.string() });
const told = z.object({ session: z.string(), effect: effect.optional(), prompt: z.unknown().optional() });
const answer = z.object({
  failure: z.enum(['rate-limit', 'server', 'unreachable', 'empty', 'cut', 'stall']).nullable(),
});

/** Called by a model or a tool inside the object. The answer says how a model is to fail, if it is. */
export async function tellOutside(news: z.input<typeof told>): Promise<ModelFailure | null> {
  const response = await exports.default.fetch(
    new Request(`https://${HOST}/`, { method: 'POST', body: JSON.stringify(news) }),
  );
  return answer.parse(await response.json()).failure;
}

/** The worker's side of it; null for a request that is not of this kind. */
export async function receiveOutside(request: Request): Promise<Response | null> {
  if (new URL(request.url).hostname !== HOST) return null;
  const news = told.parse(await request.json());
  const outside = outsideOf(news.session);
  if (news.effect) outside.effects.push(news.effect);
  if (news.prompt === undefined) return Response.json({ failure: null });
  // It is what the adapter was called with, as JSON.
  outside.prompts.push(news.prompt as LanguageModelV4Prompt);
  return Response.json({ failure: outside.failures.shift() ?? null });
}

const LOOK_MS = 2;

/**
 * Waits in the object's own context until the test lets go, or the signal fires. Polled: a promise that another
 * request settles is none of the platform's. Each look that takes `touchMs` returns early with `false`.
 */
export async function holdUntilReleased(
  session: string,
  signal: AbortSignal | undefined,
  touchMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const outside = outsideOf(session);
  const until = Date.now() + touchMs;
  while (!outside.isReleased && signal?.aborted !== true) {
    if (Date.now() >= until) return false;
    outside.isHolding = true;
    await scheduler.wait(LOOK_MS);
  }
  outside.isHolding = false;
  return true;
}
