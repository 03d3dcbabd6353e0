/** Fault points under a test's control. All sessions of a test file share them. */
import type { Faults } from '../../durable/loop/index.ts';

/** `ctx` is of the session object whose point it is; null at the points of a stand-in. */
type Plan = (point: string, ctx: DurableObjectState | null) => void | Promise<void>;
let plan: Plan = () => undefined;

export const testFaults: Faults = { hit: (point) => plan(point, null) };

export function faultsOf(ctx: DurableObjectState): Faults {
  return { hit: (point) => plan(point, ctx) };
}

/** What happens at a point from now on: nothing, a recording, a promise that holds the object there, its end. */
export function planFaults(next: Plan): void {
  plan = next;
}

export function clearFaults(): void {
  plan = () => undefined;
}
