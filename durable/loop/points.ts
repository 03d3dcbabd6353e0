/** Commits with a fault point on either side: where a kill must lose nothing and double nothing. */
import type { Append } from '../transcript/index.ts';
import type { LoopPorts } from './ports.ts';

/** A fault point. In production nothing waits here. */
export async function pass(ports: Pick<LoopPorts, 'faults'>, point: string): Promise<void> {
  const held = ports.faults.hit(point);
  if (held instanceof Promise) await held;
}

/** One commit, between the points `before` and `after`. */
export async function commitAt<T>(
  ports: Pick<LoopPorts, 'faults' | 'log'>,
  [before, after]: readonly [string, string],
  write: (append: Append) => T,
): Promise<T> {
  await pass(ports, before);
  const result = ports.log.commit(write);
  await pass(ports, after);
  return result;
}
