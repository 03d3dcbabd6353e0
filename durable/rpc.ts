/**
 * The session object's surface as the worker sees it. Values that cross are plain data in the shape of the HTTP API
 * (snake_case); event pages cross as JSON text, ready to send.
 */
import { z } from 'zod';
import type { Outcome } from './errors.ts';
import type { ForkSource } from './fork/types.ts';
import type { AtStep } from './prompt/view-shape.ts';
import type { SkillEntry } from './skills/types.ts';
import type { ContentBlock, Delivery, MessageSource } from './transcript/events.ts';
import { budgetKind, contentBlock, delivery, messageSource, usage } from './transcript/events.ts';
import type { FilesRpc } from './workspace/requests.ts';

/** Used up, by kind of budget. Money is in millionths of a US dollar; null where a request had no price. */
export const spend = z.object({
  steps: z.number().int(),
  tool_calls: z.number().int(),
  wall_ms: z.number(),
  tokens: z.number().int(),
  micro_usd: z.number().nullable(),
});
export type Spend = z.infer<typeof spend>;
export const limits = z.partialRecord(budgetKind, z.number());
export type Limits = z.infer<typeof limits>;

export const sessionView = z.object({
  id: z.string(),
  agent: z.string(),
  /** The route that the session was created with; null where the agent's own is used. */
  model: z.string().nullable(),
  cwd: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.number().int(),
  /** `damaged`: rows of it cannot be read; it takes no prompt until it is repaired. */
  status: z.enum(['idle', 'running', 'damaged']),
  turns: z.number().int(),
  queued: z.number().int(),
  last_seq: z.number().int(),
  /** Tokens of all turns that have ended. */
  usage,
  /** What was used up so far, the running turn included, and the limits that there are. */
  spent: z.object({ turn: spend.nullable(), session: spend }),
  budgets: z.object({ turn: limits, session: limits }),
  /** The session that this one is a fork of, and the last seq that they share. */
  parent: z.object({ session: z.string(), at_seq: z.number().int() }).nullable(),
});
export type SessionView = z.infer<typeof sessionView>;

export const receipt = z.object({
  session: z.string(),
  message: z.string(),
  delivery,
  /** The seq of `inbox/admitted`: reading events after it misses nothing of the answer. */
  seq: z.number().int(),
});
export type Receipt = z.infer<typeof receipt>;

/** A POST's Idempotency-Key with the SHA-256 of its body. */
export interface IdempotencyClaim {
  key: string;
  digest: string;
}

export interface CreateSession {
  tenant: string;
  /** The name of the object that lists the tenant's sessions. */
  directory: string;
  id: string;
  agent: string | null;
  model: string | null;
  cwd: string | null;
  metadata: Record<string, string>;
  /** Shadows the agent's persona in this session. */
  persona: string | null;
  /** The tools that the session may use of its agent's; null for all of them. */
  tools: string[] | null;
  idempotency: IdempotencyClaim | null;
}

/** Bytes that come with a message; the object keeps them as blobs and puts their digest into the block. */
export interface IncomingBlob {
  type: 'image' | 'file';
  media_type: string;
  name: string | null;
  bytes: Uint8Array;
}
export type IncomingBlock = Extract<ContentBlock, { type: 'text' }> | IncomingBlob;

export interface AdmitMessage {
  /** Chosen by the worker, so that a stream can be opened for it before or after it is admitted. */
  id: string;
  delivery: Delivery;
  source: MessageSource;
  content: IncomingBlock[];
  idempotency: IdempotencyClaim | null;
}

export interface EventQuery {
  after: number;
  limit: number;
  types: string[] | null;
}

/**
 * A frame on a socket, in JSON. The worker turns it into SSE; a socket client reads it as it is.
 * `event` frames carry a logged event; `delta` frames carry text that is not yet logged; `ready` says that the
 * backlog is through and frames are live from here. `cursor` is the place behind the frame, for `after`.
 */
export type Frame =
  | { frame: 'event'; seq: number; type: string; turn: number | null; data: string; cursor?: string }
  | {
      frame: 'delta';
      turn: number;
      step: number;
      attempt: number;
      /** UTF-16 units of this kind of text sent before this piece, in this attempt. */
      offset: number;
      kind: 'text' | 'reasoning';
      text: string;
      cursor?: string;
    }
  /** A new attempt of a step begins: what the client holds of the step's text is void. */
  | { frame: 'restart'; turn: number; step: number; attempt: number; cursor?: string }
  | { frame: 'ready'; last_seq: number }
  /** The last frame: why the stream ends. Resume after `last_seq`, or at the last cursor. */
  | { frame: 'dropped'; reason: string; last_seq: number }
  /** To a socket's client: answer with `{"type":"ack","n":n}`, so that what you have read is known. */
  | { frame: 'probe'; n: number }
  /** The answer to what a socket's client asked for: `error` is a problem document's code and detail, or null. */
  | { frame: 'reply'; id: string | null; error: { code: string; detail: string } | null }
  /** The answer to a client's `{"type":"ping"}`. */
  | { frame: 'pong' };

/** Who holds a socket, as the worker found out: it tells the object in this header of the upgrade, as JSON. */
export const SOCKET_GRANT_HEADER = 'perch-socket-grant';
export const socketGrant = z.object({
  /** `key:<id>` */
  by: z.string(),
  /** Whether the key may cancel. */
  cancel: z.boolean(),
  /** The worker itself: it reads whatever comes and bounds what it keeps, so nothing has to be acknowledged. */
  trusted: z.boolean(),
});
export type SocketGrant = z.infer<typeof socketGrant>;

/** A message waiting in the inbox. */
export const queuedMessage = z.object({
  id: z.string(),
  queue: z.enum(['next-turn', 'next-step']),
  wakes: z.boolean(),
  source: messageSource,
  content: z.array(contentBlock),
});
export type QueuedMessage = z.infer<typeof queuedMessage>;

/** A call that waits for a person, or a question of the model's. */
export const approvalView = z.object({
  approval: z.string(),
  kind: z.enum(['approval', 'question']),
  turn: z.number().int(),
  step: z.number().int(),
  call: z.string(),
  /** The tool's name and its arguments. */
  name: z.string(),
  input: z.json(),
  /** Why it is asked, or the question. */
  prompt: z.string(),
  options: z.array(z.string()).nullable(),
  /** Milliseconds since the epoch; what nobody decided by then does not run. */
  expires_at: z.number().nullable(),
  decision: z.object({ outcome: z.string(), by: z.string(), text: z.string().exactOptional() }).nullable(),
});
export type ApprovalView = z.infer<typeof approvalView>;

export interface DecideApproval {
  approval: string;
  outcome: 'approved' | 'denied' | 'answered';
  by: string;
  /** A denial's reason, or the answer. */
  text: string | null;
  idempotency: IdempotencyClaim | null;
}

/** What a repair found and did, in words for people; empty where nothing was wrong. */
export const repairReport = z.object({ repaired: z.array(z.string()), session: sessionView });
export type RepairReport = z.infer<typeof repairReport>;

export interface CancelTurn {
  by: string;
  clearInbox: boolean;
  /** Only this turn: a no-op where it is not the open one. */
  turn: number | null;
  idempotency: IdempotencyClaim | null;
}

/** The child asks its parent for a copy of the log. */
export interface ForkSession {
  tenant: string;
  directory: string;
  /** The child's. */
  id: string;
  /** The name of the parent's object, and the parent's id. */
  parentObject: string;
  parent: string;
  /** A closed boundary; null is the newest one. */
  atSeq: number | null;
  metadata: Record<string, string> | null;
  model: string | null;
  idempotency: IdempotencyClaim | null;
}

/** What the worker calls. Every method of a session that does not exist answers `session_not_found`. */
export interface SessionRpc extends FilesRpc, ForkSource {
  create(input: CreateSession): Promise<Outcome<SessionView>>;
  view(): Promise<Outcome<SessionView>>;
  admit(input: AdmitMessage): Promise<Outcome<Receipt>>;
  cancel(input: CancelTurn): Promise<Outcome<SessionView>>;
  /** What waits for a person, in the model's order. */
  approvals(): Promise<Outcome<ApprovalView[]>>;
  /** `approval_not_found`, `approval_settled`. */
  decide(input: DecideApproval): Promise<Outcome<ApprovalView>>;
  /** What waits, in order. */
  queued(): Promise<Outcome<QueuedMessage[]>>;
  /** One message, or all that wait for null. `message_not_found`, `message_claimed`. */
  discard(input: { by: string; message: string | null }): Promise<Outcome<SessionView>>;
  /** Becomes a copy of another session up to a closed boundary. `session_exists`, `not_a_boundary`. */
  fork(input: ForkSession): Promise<Outcome<SessionView>>;
  /** Empties the surface; the log stays. */
  reset(input: { by: string; idempotency: IdempotencyClaim | null }): Promise<Outcome<SessionView>>;
  /** Finds and mends what a fault left, without reading the transcript. */
  repair(input: { by: string; idempotency: IdempotencyClaim | null }): Promise<Outcome<RepairReport>>;
  /** JSON text: `{"data": [event…], "next": seq | null}`. */
  events(query: EventQuery): Promise<Outcome<string>>;
  /** JSON text: the prompt view of a step, or of the next one, and what changed since another (the one before). */
  prompt(at: AtStep | null, since: AtStep | null): Promise<Outcome<string>>;
  /** The log as JSON Lines, with the blobs that it names where they are wanted. */
  export(withBlobs: boolean): Promise<Outcome<ReadableStream<Uint8Array>>>;
  /** Erases storage, alarm and listing. */
  erase(): Promise<Outcome<null>>;
  /**
   * A WebSocket upgrade. Query: `after=<cursor>` (what comes after it, then live), or `message=<id>` (from that message's
   * admission, known or still to come). `SOCKET_GRANT_HEADER` says whose it is; without it, nobody's. Answers 404 where
   * the session does not exist.
   */
  fetch(request: Request): Promise<Response>;
}

export const sessionListing = z.object({
  id: z.string(),
  agent: z.string(),
  created_at: z.number().int(),
  metadata: z.record(z.string(), z.string()),
});
export type SessionListing = z.infer<typeof sessionListing>;

/** A skill of a tenant, checked, with the bytes that it names. */
export interface PutSkill {
  tenant: string;
  /** Who changes it: `key:<id>`. */
  by: string;
  entry: SkillEntry;
  contents: { digest: string; bytes: Uint8Array }[];
}

export interface SkillChange {
  /** SHA-256 of the tenant's manifest as it is now. */
  manifest: string;
  /** The skill's digest before the change; null where the tenant had none of this name. */
  before: string | null;
}

/** One change of a tenant's skills. Digests are SHA-256; null where there is no skill or no manifest. */
export const skillAuditEvent = z.object({
  seq: z.number().int(),
  at: z.number().int().describe('Milliseconds since the epoch'),
  by: z.string().describe('`key:<id>`'),
  action: z.enum(['put', 'delete']),
  name: z.string(),
  digest_before: z.string().nullable(),
  digest_after: z.string().nullable(),
  manifest_before: z.string().nullable(),
  manifest_after: z.string(),
});
export type SkillAuditEvent = z.infer<typeof skillAuditEvent>;

/** What a turn used of a skill: by whom it was called for, and which release it was. */
export const skillUse = z.object({
  name: z.string(),
  turn: z.number().int(),
  at: z.number().int().describe('Milliseconds since the epoch'),
  how: z.enum(['gesture', 'tool']),
  digest: z.string().describe("The skill's digest"),
  manifest: z.string().nullable().describe("The deployment's release"),
  tenant_manifest: z.string().nullable().describe("The tenant's own release, whose skills lie over it"),
});
export type SkillUse = z.infer<typeof skillUse>;

export const skillUsage = skillUse.omit({ name: true }).extend({ session: z.string() });
export type SkillUsage = z.infer<typeof skillUsage>;

/** `after` is the `next` of the page before; `next` is null on the last page. Newest first. */
export interface SeqPage {
  limit: number;
  after: number | null;
}
export interface Paged<T> {
  data: T[];
  next: number | null;
}

/** One object a tenant: the list of its sessions, newest first; its own skills; which turns used which skills. */
export interface DirectoryRpc {
  add(listing: SessionListing): Promise<void>;
  remove(id: string): Promise<void>;
  /** `after` is the `next` of the page before, `<created_at>.<id>`; `next` is null on the last page. */
  list(page: {
    limit: number;
    after: string | null;
  }): Promise<{ data: SessionListing[]; next: string | null }>;
  /**
   * Binds a creation's Idempotency-Key: the session id that it made first, or null where the key came with another
   * body before.
   */
  claimKey(claim: IdempotencyClaim, session: string): Promise<string | null>;
  /** Adds a skill, or takes the place of the tenant's own of this name. `skill_limit_reached`, `skill_publish_failed`. */
  putSkill(change: PutSkill): Promise<Outcome<SkillChange>>;
  /** `skill_unknown` where the tenant itself has none of this name; `skill_publish_failed`. */
  deleteSkill(change: { tenant: string; by: string; name: string }): Promise<Outcome<SkillChange>>;
  auditSkills(page: SeqPage): Promise<Paged<SkillAuditEvent>>;
  /** The same use again changes nothing. */
  recordUses(session: string, uses: readonly SkillUse[]): Promise<void>;
  listUses(name: string, page: SeqPage): Promise<Paged<SkillUsage>>;
}
