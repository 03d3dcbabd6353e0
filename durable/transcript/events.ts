/**
 * The words of the log: ids, content blocks, message sources and the one union of events (DESIGN section 3).
 * Rows are parsed with `storedEvent` when they are read; inside, the types are trusted.
 */
import { z } from 'zod';

export type Seq = number & z.BRAND<'Seq'>;
export type SessionId = string & z.BRAND<'SessionId'>;
export type TenantId = string & z.BRAND<'TenantId'>;
export type MessageId = string & z.BRAND<'MessageId'>;

const seq = z.number().int().positive().brand<'Seq'>();
const messageId = z.string().min(1).brand<'MessageId'>();
const jsonObject = z.record(z.string(), z.json());

/** Bytes live in the blob table; a block names them by the SHA-256 of their content, in hex. */
const blobBlock = {
  media_type: z.string(),
  blob: z.string(),
  bytes: z.number().int().nonnegative(),
  name: z.string().optional(),
};

export const contentBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), ...blobBlock }),
  z.object({ type: z.literal('file'), ...blobBlock }),
]);
export type ContentBlock = z.infer<typeof contentBlock>;

/** What a model said. `meta` is the provider's own (a signature, a cache hint) and goes back to it unchanged. */
export const assistantBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), meta: jsonObject.optional() }),
  z.object({ type: z.literal('reasoning'), text: z.string(), meta: jsonObject.optional() }),
  z.object({
    type: z.literal('tool-call'),
    id: z.string(),
    name: z.string(),
    input: z.json(),
    /** The model's own text where it was no JSON object; `input` is then `{}` and the call is answered with an error. */
    malformed: z.string().optional(),
    meta: jsonObject.optional(),
  }),
]);
export type AssistantBlock = z.infer<typeof assistantBlock>;
export type ToolCallBlock = Extract<AssistantBlock, { type: 'tool-call' }>;

/**
 * Who is really speaking. Only a route may set `user`, `bot` or `webhook`; the lanes set the rest.
 * Only `user` is ever scanned for gestures.
 */
export const messageSource = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), author: z.string().optional(), channel: z.string().optional() }),
  z.object({ kind: z.literal('bot'), id: z.string() }),
  z.object({ kind: z.literal('webhook'), endpoint: z.string() }),
  z.object({ kind: z.literal('delegation'), parent: z.string() }),
  z.object({
    kind: z.literal('skill-invocation'),
    name: z.string(),
    form: z.literal('instructions'),
    digest: z.string(),
  }),
  z.object({
    kind: z.literal('skill-catalog'),
    form: z.literal('catalog'),
    /** Names, sorted by code unit; `digest` covers names and descriptions. */
    entries: z.array(z.string()),
    digest: z.string(),
    update: z.boolean().optional(),
  }),
  z.object({ kind: z.literal('instructions'), name: z.string() }),
  z.object({ kind: z.literal('references'), name: z.string() }),
  z.object({ kind: z.literal('runtime-context'), name: z.string(), digest: z.string() }),
  z.object({ kind: z.literal('plugin'), name: z.string() }),
]);
export type MessageSource = z.infer<typeof messageSource>;

export const userMessage = z.object({
  id: messageId,
  role: z.literal('user'),
  source: messageSource,
  content: z.array(contentBlock).min(1),
});
export type UserMessage = z.infer<typeof userMessage>;

export const usage = z.object({
  input: z.number().nonnegative(),
  input_cached: z.number().nonnegative(),
  input_cache_write: z.number().nonnegative(),
  output: z.number().nonnegative(),
  reasoning: z.number().nonnegative(),
});
export type Usage = z.infer<typeof usage>;

/** What a turn or a session may use up. Wall time is in milliseconds, money in millionths of a US dollar. */
export const budgetKind = z.enum(['steps', 'tool_calls', 'wall_ms', 'tokens', 'micro_usd']);
export type BudgetKind = z.infer<typeof budgetKind>;

/** What a model request may cost at most, or has cost: tokens in and out, and money where the route has a price. */
export const charge = z.object({
  tokens: z.number().int().nonnegative(),
  /** Millionths of a US dollar; null where the deployment has no price for the route. */
  micro_usd: z.number().nonnegative().nullable(),
});
export type Charge = z.infer<typeof charge>;

/** What a turn took. Tokens are the `usage` beside it. */
export const turnReceipt = z.object({
  /** Requests to models, those that failed and those that a restart cut off included. */
  attempts: z.number().int().nonnegative(),
  tool_calls: z.number().int().nonnegative(),
  /** How often the object was restarted in the middle of the turn. */
  restarts: z.number().int().nonnegative(),
  /** Of the database, indexes included, by the object's life that ended the turn. */
  rows_written: z.number().int().nonnegative(),
  /** From `turn/start` to here, of which `model_ms` waiting for models and `tools_ms` for tools; the rest is the harness. */
  ms: z.number().nonnegative(),
  model_ms: z.number().nonnegative(),
  tools_ms: z.number().nonnegative(),
  harness_ms: z.number().nonnegative(),
  /** Settled: what is known of the answers, and the reservation of requests whose answer never came. */
  charge,
});
export type TurnReceipt = z.infer<typeof turnReceipt>;

/** A failure that is part of the log: a stable snake_case code, a sentence, and facts to act on. */
export const failure = z.object({
  code: z.string(),
  message: z.string(),
  facts: jsonObject.optional(),
});
export type Failure = z.infer<typeof failure>;

export const turnEndReason = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('completed') }),
  z.object({ kind: z.literal('max-tokens') }),
  z.object({ kind: z.literal('blocked'), by: z.string(), message: z.string() }),
  z.object({ kind: z.literal('aborted'), by: z.string() }),
  z.object({ kind: z.literal('error'), error: failure }),
  z.object({ kind: z.literal('interrupted'), message: z.string() }),
  z.object({
    kind: z.literal('budget'),
    budget: budgetKind,
    scope: z.enum(['turn', 'session']).default('turn'),
    limit: z.number(),
    /** What was used up, and what the next request would have taken; absent in older logs. */
    used: z.number().exactOptional(),
  }),
]);
export type TurnEndReason = z.infer<typeof turnEndReason>;

/** How an event enters the surface: at its end, or in the place of the named events. */
const surfaceOp = z.union([z.literal('append'), z.object({ replace: z.array(seq).min(1) })]);
export type SurfaceOp = z.infer<typeof surfaceOp>;

export const delivery = z.enum(['followup', 'steer', 'inject']);
export type Delivery = z.infer<typeof delivery>;

const owned = { name: z.string(), owner: z.string() };
const sized = { digest: z.string(), tokens: z.number().int().nonnegative() };

/** What the model was told, and by whom: a request's header with its provenance. Texts are blobs, by digest. */
export const requestHeader = z.object({
  agent: z.string(),
  provider: z.string(),
  model: z.string(),
  system: z.object(sized),
  tools: z.object({ ...sized, names: z.array(z.object({ ...owned, tokens: z.number().int() })) }),
  config: jsonObject,
  /** In the order of the text; `chars` is a section's length in it (UTF-16 units), a blank line apart. */
  sections: z.array(z.object({ ...owned, order: z.number(), chars: z.number().int(), ...sized })),
  variables: z.array(z.object({ ...owned, value: z.string() })),
  skills: z.object({
    manifest: z.string().nullable(),
    /** The tenant's own manifest, where it has one. */
    tenant: z.string().optional(),
    fault: failure.optional(),
  }),
});
export type RequestHeader = z.infer<typeof requestHeader>;

export const todoItem = z.strictObject({
  text: z.string().min(1).max(500),
  status: z.enum(['pending', 'in_progress', 'done']),
});
export type TodoItem = z.infer<typeof todoItem>;

const inTurn = { turn: z.number().int().positive() };
const inStep = { ...inTurn, step: z.number().int().positive() };

export const eventBody = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('session/created'),
    agent: z.string(),
    model: z.string().nullable(),
    cwd: z.string(),
    metadata: z.record(z.string(), z.string()),
    persona: z.string().nullable(),
    /** The tools that the session may use of its agent's; absent for all of them. */
    tools: z.array(z.string()).exactOptional(),
    /** The session that this one is a fork of, and the last seq that they share. */
    parent: z.object({ session: z.string(), at_seq: z.number().int().positive() }).exactOptional(),
  }),
  z.object({
    type: z.literal('inbox/admitted'),
    message: messageId,
    delivery,
    source: messageSource,
    wakes: z.boolean(),
  }),
  z.object({ type: z.literal('inbox/discarded'), message: userMessage, cause: z.string() }),
  z.object({ type: z.literal('turn/start'), ...inTurn }),
  z.object({ type: z.literal('step/start'), ...inStep, claimed: z.array(messageId) }),
  z.object({
    type: z.literal('user/message'),
    ...inTurn,
    step: z.number().int().positive().optional(),
    message: userMessage,
    surface: surfaceOp,
  }),
  z.object({ type: z.literal('request/header'), ...inStep, header: requestHeader }),
  z.object({
    type: z.literal('request/attempt'),
    ...inStep,
    attempt: z.number().int().positive(),
    /** Of all that the model is asked with: see `transcript/request-digest.ts`. */
    digest: z.string(),
    /** Set aside before the request is sent; absent in older logs. */
    reserved: charge.exactOptional(),
  }),
  /** The attempt gave no answer: what clients hold of it is void. */
  z.object({
    type: z.literal('request/failed'),
    ...inStep,
    attempt: z.number().int().positive(),
    error: failure,
    /** Whether a piece of an answer had come, so that the provider may bill it. */
    began: z.boolean(),
    /** When the next attempt is due, in milliseconds since the epoch; null where there is none. */
    retry_at: z.number().nullable(),
  }),
  z.object({
    type: z.literal('assistant/message'),
    ...inStep,
    attempt: z.number().int().positive(),
    content: z.array(assistantBlock),
    finish: z.string(),
    usage,
    model: z.string(),
    /** What was set aside, settled. Of an answer that was stopped and told nothing of its usage: all of it. */
    charge: charge.exactOptional(),
    interrupted: z.boolean().optional(),
    surface: surfaceOp,
  }),
  z.object({ type: z.literal('tool/call'), ...inStep, call: z.string(), name: z.string(), input: z.json() }),
  z.object({
    type: z.literal('tool/result'),
    ...inStep,
    call: z.string(),
    name: z.string(),
    content: z.array(contentBlock),
    /** A stable code where the call failed: `unknown_tool`, `invalid_arguments`, `tool_failed`, … */
    error: z.string().optional(),
    /** What the tool says of its answer for the record; no model sees it. */
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    surface: surfaceOp,
  }),
  /** A person has to decide before the call goes on; the turn waits, however long that takes. */
  z.object({
    type: z.literal('approval/requested'),
    ...inStep,
    approval: z.string(),
    call: z.string(),
    name: z.string(),
    /** A call to be allowed, or a question of the model's to be answered. */
    kind: z.enum(['approval', 'question']),
    /** Why it is asked: the guard's reason, or the question. */
    prompt: z.string(),
    options: z.array(z.string()).exactOptional(),
    /** Milliseconds since the epoch; null where it never expires. */
    expires_at: z.number().nullable(),
  }),
  /** The first decision; there is no other. */
  z.object({
    type: z.literal('approval/resolved'),
    ...inTurn,
    approval: z.string(),
    outcome: z.enum(['approved', 'denied', 'answered', 'expired', 'withdrawn']),
    by: z.string(),
    /** The person's reason for a denial, or the answer. */
    text: z.string().exactOptional(),
  }),
  /** The whole list of what is to be done, as the model keeps it. */
  z.object({ type: z.literal('todo/write'), ...inStep, call: z.string(), items: z.array(todoItem) }),
  z.object({ type: z.literal('step/end'), ...inStep }),
  z.object({
    type: z.literal('turn/end'),
    ...inTurn,
    steps: z.number().int().nonnegative(),
    reason: turnEndReason,
    usage,
    /** Absent in older logs. */
    receipt: turnReceipt.exactOptional(),
  }),
  /** A command of the host, which no model sees: `reset` empties the surface, `repair` mends what a fault left. */
  z.object({ type: z.literal('command/run'), command: z.string(), by: z.string() }),
  z.object({
    type: z.literal('command/done'),
    command: z.string(),
    /** What it did, in words for people. */
    result: z.array(z.string()),
  }),
]);
export type EventBody = z.infer<typeof eventBody>;
export type EventType = EventBody['type'];
export type EventOf<T extends EventType> = Extract<EventBody, { type: T }>;

/** An event in the log: its body with its place and its time (milliseconds since the epoch). */
export type LogEvent = EventBody & { seq: Seq; at: number };
export type LogEventOf<T extends EventType> = EventOf<T> & { seq: Seq; at: number };

/** The events that a model sees. */
export type SurfaceEvent = LogEventOf<'user/message' | 'assistant/message' | 'tool/result'>;

export const NO_USAGE: Usage = { input: 0, input_cached: 0, input_cache_write: 0, output: 0, reasoning: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    input_cached: a.input_cached + b.input_cached,
    input_cache_write: a.input_cache_write + b.input_cache_write,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

/** Closes a switch over a union: a member that is not handled is a type error. */
export function assertNever(value: never): never {
  throw new Error(`unhandled member: ${JSON.stringify(value)}`);
}
