/**
 * The session object's surface as the worker sees it. Values that cross are plain data in the shape of the HTTP API
 * (snake_case); event pages cross as JSON text, ready to send.
 */
import { z } from 'zod';
import type { Outcome } from './errors.ts';
import type { AtStep } from './prompt/view-shape.ts';
import type { ContentBlock, Delivery, MessageSource } from './transcript/events.ts';
import { delivery, usage } from './transcript/events.ts';

export const sessionView = z.object({
  id: z.string(),
  agent: z.string(),
  /** The route that the session was created with; null where the agent's own is used. */
  model: z.string().nullable(),
  cwd: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.number().int(),
  status: z.enum(['idle', 'running']),
  turns: z.number().int(),
  queued: z.number().int(),
  last_seq: z.number().int(),
  usage,
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
 * backlog is through and frames are live from here.
 */
export type Frame =
  | { frame: 'event'; seq: number; type: string; turn: number | null; data: string }
  | {
      frame: 'delta';
      turn: number;
      step: number;
      attempt: number;
      /** UTF-16 units of this kind of text sent before this piece, in this attempt. */
      offset: number;
      kind: 'text' | 'reasoning';
      text: string;
    }
  | { frame: 'ready'; last_seq: number };

/** What the worker calls. Every method of a session that does not exist answers `session_not_found`. */
export interface SessionRpc {
  create(input: CreateSession): Promise<Outcome<SessionView>>;
  view(): Promise<Outcome<SessionView>>;
  admit(input: AdmitMessage): Promise<Outcome<Receipt>>;
  cancel(input: {
    by: string;
    clearInbox: boolean;
    idempotency: IdempotencyClaim | null;
  }): Promise<Outcome<SessionView>>;
  /** JSON text: `{"data": [event…], "next": seq | null}`. */
  events(query: EventQuery): Promise<Outcome<string>>;
  /** JSON text: the prompt view of a step, or of the next one, and what changed since another (the one before). */
  prompt(at: AtStep | null, since: AtStep | null): Promise<Outcome<string>>;
  /** The log as JSON Lines, with the blobs that it names where they are wanted. */
  export(withBlobs: boolean): Promise<Outcome<ReadableStream<Uint8Array>>>;
  /** Erases storage, alarm and listing. */
  erase(): Promise<Outcome<null>>;
  /**
   * A WebSocket upgrade. Query: `after=<seq>` (events after it, then live), or `message=<id>` (from that message's
   * admission, known or still to come). Answers 404 where the session does not exist.
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

/** One object a tenant: the list of its sessions, newest first. */
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
}
