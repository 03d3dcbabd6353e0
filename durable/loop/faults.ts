/**
 * Named points at the loop's awaits and commits, where tests hold or kill the object. In production a hit does
 * nothing.
 */
export interface Faults {
  hit: (point: string) => void | Promise<void>;
}

export const NO_FAULTS: Faults = { hit: () => undefined };
