/** What the clients of a session remember of it, to be held against its log at the end. */
import type { Receipt } from '../../durable/rpc.ts';
import type { Viewer } from './viewer.ts';
import type { SessionHost } from './world.ts';

/** A session as its clients know it. */
export interface Known {
  id: string;
  host: SessionHost;
  /** Null for one that is no fork. */
  parent: { session: string; atSeq: number } | null;
  /** The places in its log at which it, and what it is a fork of, parted from their parents. */
  forkedAt: number[];
  /** By message id: the operation that tried to post it. */
  tried: Map<string, { operation: number; keyed: boolean }>;
  /** By operation: the receipts that came. */
  receipts: Map<number, Receipt[]>;
  /** Posts in the order in which they were first sent. */
  posted: { operation: number; message: string }[];
  /** What the discarding of a message was answered with. */
  discarded: Map<string, 'discarded' | 'claimed' | 'unknown'>;
  /** Turns whose cancel was acknowledged while they were open. */
  cancelled: Set<number>;
  viewers: Viewer[];
  isErasing: boolean;
  /** The erasing was acknowledged. */
  isErased: boolean;
}
