/** Pre-step: the lanes over the claimed batch (DESIGN section 5, *Pre-step lanes*). */

import type { AssembleContext, Assembly } from '../prompt/types.ts';
import type { ContentBlock, MessageSource, SurfaceEvent, UserMessage } from '../transcript/events.ts';

/** Lanes in the order in which they run. `claimed` is the batch itself; `skill` is always last. */
export const LANES = ['instructions', 'references', 'runtime-context', 'catalog', 'plugin', 'skill'] as const;
export type Lane = (typeof LANES)[number];

/** A message that a lane adds; the harness gives it its id. */
export interface Injection {
  source: MessageSource;
  content: ContentBlock[];
}

export interface LaneContext extends AssembleContext {
  turn: number;
  step: number;
  /** The claimed messages, in order. */
  claimed: readonly UserMessage[];
  /** Claimed and injected so far, in order. */
  batch: readonly (UserMessage | Injection)[];
  assembly: Assembly;
  /** The newest `user/message` on the surface whose source is of this kind. */
  lastOfKind: (kind: MessageSource['kind']) => Extract<SurfaceEvent, { type: 'user/message' }> | undefined;
}

/** Add messages, or reject the batch: the turn then ends `blocked` and no model request is made. */
export type LaneOutcome = { kind: 'enter'; inject: Injection[] } | { kind: 'reject'; message: string };

export interface LaneDefinition {
  lane: Lane;
  /** Orders the parts of one lane (by code unit). */
  name: string;
  run: (context: LaneContext) => LaneOutcome | Promise<LaneOutcome>;
}
