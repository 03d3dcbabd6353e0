/** Fault points under a test's control. All sessions of a test file share them. */
import type { Faults } from '../../durable/loop/index.ts';

let plan: (point: string) => void | Promise<void> = () => undefined;

export const testFaults: Faults = { hit: (point) => plan(point) };

/** What happens at a point from now on: nothing, a recording, a promise that holds the object there. */
export function planFaults(next: (point: string) => void | Promise<void>): void {
  plan = next;
}

export function clearFaults(): void {
  plan = () => undefined;
}
