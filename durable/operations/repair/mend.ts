import type { EventBody } from '../../transcript/index.ts';

/** Something that a repair does: in words for people, and as events that the log gets with it. */
export interface Mend {
  did: string;
  events: EventBody[];
}
