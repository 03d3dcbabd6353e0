/** What a child asks its parent for while it becomes a copy of it. Everything crosses in bounded pieces. */
import type { Outcome } from '../errors.ts';
import type { UserMessage } from '../transcript/events.ts';

/** Where a fork parts from its parent, and who the parent is. */
export interface ForkPoint {
  /** A closed boundary: no step is open behind it. */
  at_seq: number;
  agent: string;
  cwd: string;
  persona: string | null;
  tools: string[] | null;
  model: string | null;
  metadata: Record<string, string>;
  /** When the parent was created: another session that took its id meanwhile is not the parent any more. */
  created_at: number;
}

/** The parent as the point named it: `session_not_found` where it is gone since. */
interface OfParent {
  created_at: number;
}

export interface LentRow {
  seq: number;
  at: number;
  type: string;
  /** The event's body as the parent keeps it. */
  data: string;
}

/** A part of a blob, as the parent keeps it. */
export interface LentPart {
  digest: string;
  part: number;
  bytes: ArrayBuffer;
}

export interface LentParts {
  parts: LentPart[];
  /** What to ask `after` for the rest; null where that was all. */
  next: { digest: string; part: number } | null;
}

/** A parent's side of a fork, as RPC methods of a session. */
export interface ForkSource {
  /** `not_a_boundary` with the nearest ones; for null the newest boundary between turns. */
  forkPoint(atSeq: number | null): Promise<Outcome<ForkPoint>>;
  /** Rows after `after` up to `end`, at least one where there is one, and not much more than a megabyte of them. */
  forkRows(ask: OfParent & { after: number; end: number }): Promise<Outcome<LentRow[]>>;
  /** Parts of the named blobs, in order of digest and part. */
  forkBlobs(
    ask: OfParent & { digests: string[]; after: { digest: string; part: number } | null },
  ): Promise<Outcome<LentParts>>;
  /** Messages that no step had claimed at `at_seq`, from the inbox or from the log behind it. */
  forkMessages(ask: OfParent & { at_seq: number; ids: string[] }): Promise<Outcome<UserMessage[]>>;
}
